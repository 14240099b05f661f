// The bare system call, with libc's convention for errors. All files of ours inside other people's programs are built with
// syscall=rb_raw_syscall: what we do is never taken for something that the program does.
#include <asm/unistd_64.h>
#undef syscall // the instruction

	.text
	.globl	rb_raw_syscall
	.hidden	rb_raw_syscall
	.type	rb_raw_syscall, @function
rb_raw_syscall: // (number, a, b, c, d, e, f)
	.cfi_startproc
	endbr64
	movq	%rdi, %rax
	movq	%rsi, %rdi
	movq	%rdx, %rsi
	movq	%rcx, %rdx
	movq	%r8, %r10
	movq	%r9, %r8
	movq	8(%rsp), %r9
	syscall
	cmpq	$-4095, %rax
	jae	1f
	ret
1:	negl	%eax
	pushq	%rax
	.cfi_adjust_cfa_offset 8
	call	__errno_location@PLT
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	movl	%edx, (%rax)
	movq	$-1, %rax
	ret
	.cfi_endproc
	.size	rb_raw_syscall, . - rb_raw_syscall

#if defined(RB_TAKES_SYSCALL)
// In front of libc's. It must not have a frame: the call may be clone, which returns on another stack as well.
	.weak	syscall
	.type	syscall, @function
syscall:
	.cfi_startproc
	endbr64
	cmpq	$__NR_rt_sigprocmask, %rdi
	jne	rb_raw_syscall
	jmp	rb_mask_by_number
	.cfi_endproc
	.size	syscall, . - syscall
#endif

	.section .note.GNU-stack, "", @progbits
