// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The stubs that cells call (rmw_cell.h). They save all that a C function may change, but vector registers.
//
// A walk of the stack finds the program's instruction as the caller: the word `pc` is the return address, and
// the CFA is the program's rsp. The frame is marked as a signal's, since that pc is exact.

#define RED_ZONE 128
#define DIRECTION 0x400

// Saves and restores the flags by way of rax. popfq would cost more than all the rest.
.macro save_flags
	lahf
	seto	%al
	pushq	%rax
	.cfi_adjust_cfa_offset 8
	pushfq
	.cfi_adjust_cfa_offset 8
	cld
.endm

// The flags are at the bottom of the stack, and stay there.
.macro restore_flags
	testl	$DIRECTION, (%rsp)
	jz	1f
	std
1:	movq	8(%rsp), %rax
	addb	$127, %al
	sahf
.endm

	.text
	.globl	rb_rmw_stub_before
	.hidden	rb_rmw_stub_before
	.type	rb_rmw_stub_before, @function
	.p2align 4
rb_rmw_stub_before: // (%rsp): into the cell, the site, the program's pc, red zone
	.cfi_startproc
	.cfi_signal_frame
	.cfi_def_cfa %rsp, RED_ZONE + 24
	.cfi_offset %rip, -(RED_ZONE + 8)
	.irp	reg, %r15, %r14, %r13, %r12, %r11, %r10, %r9, %r8, %rdi, %rsi, %rbp, %rsp, %rbx, %rdx, %rcx, %rax
	pushq	\reg
	.cfi_adjust_cfa_offset 8
	.endr
	save_flags
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	.cfi_offset %rbp, -(RED_ZONE + 24 + 88)
	leaq	16(%rsp), %rdi // struct rb_rmw_frame
	andq	$-16, %rsp
	call	rb_rmw_before
	movq	%rbp, %rsp
	.cfi_def_cfa_register %rsp
	restore_flags
	movq	16(%rsp), %rax
	movq	24(%rsp), %rcx
	movq	32(%rsp), %rdx
	movq	56(%rsp), %rbp
	.cfi_restore %rbp
	movq	64(%rsp), %rsi
	movq	72(%rsp), %rdi
	movq	80(%rsp), %r8
	movq	88(%rsp), %r9
	movq	96(%rsp), %r10
	movq	104(%rsp), %r11
	leaq	144(%rsp), %rsp
	.cfi_def_cfa %rsp, RED_ZONE + 24
	ret
	.cfi_endproc
	.size	rb_rmw_stub_before, . - rb_rmw_stub_before

	.globl	rb_rmw_stub_after
	.hidden	rb_rmw_stub_after
	.type	rb_rmw_stub_after, @function
	.p2align 4
rb_rmw_stub_after: // (%rsp): into the cell, the site, the operand's address, the program's pc, red zone
	.cfi_startproc
	.cfi_signal_frame
	.cfi_def_cfa %rsp, RED_ZONE + 32
	.cfi_offset %rip, -(RED_ZONE + 8)
	.irp	reg, %rbp, %r11, %r10, %r9, %r8, %rdi, %rsi, %rdx, %rcx, %rax
	pushq	\reg
	.cfi_adjust_cfa_offset 8
	.endr
	.cfi_offset %rbp, -(RED_ZONE + 32 + 8)
	save_flags
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	movq	104(%rsp), %rdi // the site
	movq	112(%rsp), %rsi
	andq	$-16, %rsp
	call	rb_rmw_after
	movq	%rbp, %rsp
	.cfi_def_cfa_register %rsp
	restore_flags
	leaq	16(%rsp), %rsp
	.cfi_adjust_cfa_offset -16
	.irp	reg, %rax, %rcx, %rdx, %rsi, %rdi, %r8, %r9, %r10, %r11, %rbp
	popq	\reg
	.cfi_adjust_cfa_offset -8
	.endr
	.cfi_restore %rbp
	ret	$(RED_ZONE + 24)
	.cfi_endproc
	.size	rb_rmw_stub_after, . - rb_rmw_stub_after

// xsavec writes the components in use: 2,432 bytes at most, with all of AVX-512. Its header must be zero before.
#define AREA 2560
#define HEADER 512

	.globl	rb_rmw_call_saved
	.hidden	rb_rmw_call_saved
	.type	rb_rmw_call_saved, @function
	.p2align 4
rb_rmw_call_saved: // (function, library, address)
	.cfi_startproc
	endbr64
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	subq	$AREA, %rsp
	andq	$-64, %rsp
	movq	%rdi, %r8
	movl	%esi, %edi
	movq	%rdx, %rsi
	movl	rb_rmw_vectors(%rip), %eax
	testl	%eax, %eax
	jz	2f
	xorl	%edx, %edx
	.irp	offset, 0, 8, 16, 24, 32, 40, 48, 56
	movq	%rdx, HEADER + \offset(%rsp)
	.endr
	xsavec64	(%rsp)
	call	*%r8
	movl	rb_rmw_vectors(%rip), %eax
	xorl	%edx, %edx
	xrstor64	(%rsp)
	leave
	.cfi_remember_state
	.cfi_def_cfa %rsp, 8
	.cfi_restore %rbp
	ret
	.cfi_restore_state
2:	fxsave64	(%rsp)
	call	*%r8
	fxrstor64	(%rsp)
	leave
	.cfi_def_cfa %rsp, 8
	.cfi_restore %rbp
	ret
	.cfi_endproc
	.size	rb_rmw_call_saved, . - rb_rmw_call_saved

	.section .note.GNU-stack, "", @progbits
