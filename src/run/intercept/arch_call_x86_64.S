// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls a function that takes another module for its caller. The function returns to an instruction `ret` of that
// module, and that one returns to the call here.
//
// Arguments: function, a, b, address of the `ret`.
	.text
	.globl	rb_arch_call_from
	.hidden	rb_arch_call_from
	.type	rb_arch_call_from, @function
rb_arch_call_from:
	.cfi_startproc
	endbr64
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	movq	%rdi, %rax
	movq	%rsi, %rdi
	movq	%rdx, %rsi
	leaq	1f(%rip), %rdx
	subq	$8, %rsp // as after a call it is 8 less than a multiple of 16
	pushq	%rdx
	pushq	%rcx
	jmp	*%rax
1:	movq	%rbp, %rsp
	popq	%rbp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	rb_arch_call_from, . - rb_arch_call_from

// Returns true if the processor checks that calls and returns are in pairs (shadow
// stack). Without that `rdssp` does nothing.
	.globl	rb_arch_checks_returns
	.hidden	rb_arch_checks_returns
	.type	rb_arch_checks_returns, @function
rb_arch_checks_returns:
	.cfi_startproc
	endbr64
	xorl	%eax, %eax
	.byte	0xf3, 0x48, 0x0f, 0x1e, 0xc8 // rdsspq %rax
	testq	%rax, %rax
	setne	%al
	movzbl	%al, %eax
	ret
	.cfi_endproc
	.size	rb_arch_checks_returns, . - rb_arch_checks_returns

	.section .note.GNU-stack, "", @progbits
