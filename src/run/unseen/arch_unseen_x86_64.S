// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The common code of the stubs in slots (got_slots.c). r11: the stub's record. It begins and ends as the call of
// the library's function does: all registers that may pass arguments, and the stack pointer, are as the caller left
// them. r11 is free: calls between modules may change it.
	.text
	.globl	rb_arch_unseen_enter
	.hidden	rb_arch_unseen_enter
	.type	rb_arch_unseen_enter, @function
rb_arch_unseen_enter:
	.cfi_startproc
	endbr64
	.irp	register, r11, rax, rdi, rsi, rdx, rcx, r8, r9, r10
	pushq	%\register
	.cfi_adjust_cfa_offset 8
	.endr
	movq	%r11, %rdi
	leaq	72(%rsp), %rsi // the place of the return address
	call	rb_unseen_enter_quick
	testb	%al, %al
	jne	2f
1:	.irp	register, r10, r9, r8, rcx, rdx, rsi, rdi, rax, r11
	popq	%\register
	.cfi_adjust_cfa_offset -8
	.endr
	jmp	*(%r11)

// The slow path saves vector registers as well, as wide as the machine has them.
2:	.cfi_def_cfa_offset 80
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	movq	72(%rbp), %rdi
	leaq	80(%rbp), %rsi
	subq	$512, %rsp
	andq	$-64, %rsp
	cld
	movl	rb_unseen_vectors(%rip), %eax
	cmpl	$1, %eax
	je	3f
	ja	4f
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7
	movaps	%xmm\n, 64*\n(%rsp)
	.endr
	call	rb_unseen_enter
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7
	movaps	64*\n(%rsp), %xmm\n
	.endr
	jmp	5f
3:	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7
	vmovaps	%ymm\n, 64*\n(%rsp)
	.endr
	call	rb_unseen_enter
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7
	vmovaps	64*\n(%rsp), %ymm\n
	.endr
	jmp	5f
4:	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7
	vmovaps	%zmm\n, 64*\n(%rsp)
	.endr
	call	rb_unseen_enter
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7
	vmovaps	64*\n(%rsp), %zmm\n
	.endr
5:	movq	%rbp, %rsp
	popq	%rbp
	.cfi_def_cfa %rsp, 80
	.cfi_restore %rbp
	jmp	1b
	.cfi_endproc
	.size	rb_arch_unseen_enter, . - rb_arch_unseen_enter

// Returns the width of vector registers that the processor has and the kernel keeps: enum rb_unseen_vectors.
	.globl	rb_arch_unseen_vectors
	.hidden	rb_arch_unseen_vectors
	.type	rb_arch_unseen_vectors, @function
rb_arch_unseen_vectors:
	.cfi_startproc
	endbr64
	movq	%rbx, %r8 // cpuid changes it
	.cfi_register %rbx, %r8
	movl	$1, %eax
	xorl	%ecx, %ecx
	cpuid
	xorl	%esi, %esi
	btl	$27, %ecx // OSXSAVE
	jnc	1f
	btl	$28, %ecx // AVX
	jnc	1f
	xorl	%ecx, %ecx
	xgetbv
	movl	%eax, %edi
	andl	$0xe6, %edi
	andl	$6, %eax
	cmpl	$6, %eax // kept: xmm, ymm
	jne	1f
	incl	%esi
	cmpl	$0xe6, %edi // and the three parts of AVX-512
	jne	1f
	movl	$7, %eax
	xorl	%ecx, %ecx
	cpuid
	btl	$16, %ebx // AVX512F
	jnc	1f
	incl	%esi
1:	movl	%esi, %eax
	movq	%r8, %rbx
	ret
	.cfi_endproc
	.size	rb_arch_unseen_vectors, . - rb_arch_unseen_vectors

	.section .note.GNU-stack, "", @progbits
