// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bare system call, with libc's convention for errors. All files of ours inside other people's programs
// are built with syscall=rb_raw_syscall: our calls are never taken for calls of the program.
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
	je	rb_mask_by_number
	cmpq	$__NR_clone, %rdi
	je	process_by_number
	cmpq	$__NR_fork, %rdi
	je	process_by_number
	cmpq	$__NR_vfork, %rdi
	je	process_by_number
	cmpq	$__NR_clone3, %rdi
	je	process_by_number
	cmpq	$__NR_seccomp, %rdi
	je	rb_filter_by_number
	cmpq	$__NR_prctl, %rdi
	je	rb_filter_by_number
	jmp	rb_call_by_number
	.cfi_endproc
	.size	syscall, . - syscall

// A call that makes a process or a thread. process.c decides which (rb_process_by_number): 0 is a thread,
// else the number to call. Nothing of ours is on the stack at the call, and only the argument registers
// have changed. The child continues from there, on a copy of the stack or on another stack that begins with
// its return address.
	.type	process_by_number, @function
process_by_number: // (number, a, b, c, d, e, f)
	.cfi_startproc
	pushq	%rdi
	pushq	%rsi
	pushq	%rdx
	pushq	%rcx
	pushq	%r8
	pushq	%r9
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 56
	call	rb_process_by_number
	addq	$8, %rsp
	popq	%r9
	popq	%r8
	popq	%rcx
	popq	%rdx
	popq	%rsi
	popq	%rdi
	.cfi_adjust_cfa_offset -56
	testq	%rax, %rax
	je	rb_raw_syscall
	movq	%rsi, %rdi
	movq	%rdx, %rsi
	movq	%rcx, %rdx
	movq	%r8, %r10
	movq	%r9, %r8
	movq	8(%rsp), %r9
	syscall
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	andq	$-16, %rsp
	movq	%rax, %rdi
	call	rb_process_by_number_done
	movq	%rbp, %rsp
	popq	%rbp
	.cfi_def_cfa %rsp, 8
	.cfi_restore %rbp
	ret
	.cfi_endproc
	.size	process_by_number, . - process_by_number
#endif

	.section .note.GNU-stack, "", @progbits
