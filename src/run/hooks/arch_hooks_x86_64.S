// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The hooks that our compiler plugin calls (src/plugin). They do the same as __tsan_*, and preserve every register
// but r10 and r11; of vector registers, the lower half. So code around a call keeps its values in registers.
//
// The fast path is here, in three instructions. All else goes through rb_preserving. It saves the registers on the
// stack and calls a function in C with the hook's arguments and return address. rb_preserving has a frame like any
// other function, so stacks are walked through it.
#include "run/core/race_event.h"
#include "run/access/address_filter.h"
#include "run/core/pause.h"

	.text
	.type	rb_preserving, @function
// r11: the function. r10: the second argument. The first argument is the hook's first, the third is the hook's return
// address. The result is returned in the carry flag, for hooks that use it.
rb_preserving:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	pushq	%rax
	pushq	%rcx
	pushq	%rdx
	pushq	%rsi
	pushq	%rdi
	pushq	%r8
	pushq	%r9
	subq	$256, %rsp
	andq	$-16, %rsp
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	movaps	%xmm\n, 16*\n(%rsp)
	.endr
	movq	%r10, %rsi
	movq	8(%rbp), %rdx
	cld
	call	*%r11
	negl	%eax // carry if the result was not 0; nothing below changes flags
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	movaps	16*\n(%rsp), %xmm\n
	.endr
	leaq	-56(%rbp), %rsp
	popq	%r9
	popq	%r8
	popq	%rdi
	popq	%rsi
	popq	%rdx
	popq	%rcx
	popq	%rax
	popq	%rbp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	rb_preserving, . - rb_preserving

	.macro	begin name
	.globl	__railbird_\name
	.type	__railbird_\name, @function
__railbird_\name:
	.cfi_startproc
	endbr64
	.endm

	.macro	end name
	.cfi_endproc
	.size	__railbird_\name, . - __railbird_\name
	.endm

// Returns if the access is skipped.
	.macro	pass
	movq	rb_skip@gottpoff(%rip), %r11
	subq	$1, %fs:(%r11)
	js	1f
	ret
1:
	.endm

// Returns, carry clear, if the site is queued for patching by another thread: rb_is_queued() of run/sites/sites.h.
	.macro	skip_queued
	movq	rb_queued@gottpoff(%rip), %r11
	addq	%fs:0, %r11
	movl	(%rsp), %r10d
	andl	$0x78, %r10d
	movq	8(%r11,%r10), %r10
	cmpq	(%rsp), %r10
	jne	3f
	movq	rb_flips_epoch(%rip), %r10
	cmpq	(%r11), %r10
	jne	3f
	clc
	ret
3:
	.endm

// Returns if accesses are thinned out and this one is not taken: rb_filter_passes() of run/access/address_filter.h.
	.macro	thin
	movq	rb_filter_number(%rip), %r10
	testq	%r10, %r10
	je	4f
	movq	%rdi, %r11
	shrq	$RB_FILTER_UNIT, %r11
	imulq	%r10, %r11
	shrq	$(64 - RB_FILTER_SHARE), %r11
	je	4f
	movq	rb_skip@gottpoff(%rip), %r11
	cmpq	$-RB_FILTER_MOST, %fs:(%r11)
	jl	4f
	movq	rb_common@gottpoff(%rip), %r11
	addq	%fs:0, %r11
	movl	(%rsp), %r10d
	andl	$(8 * (RB_FILTER_PLACES - 1)), %r10d
	movq	(%r11,%r10), %r10
	cmpq	(%rsp), %r10
	jne	4f
	ret
4:
	.endm

	.macro	leave_to function
	leaq	\function(%rip), %r11
	jmp	rb_preserving
	.endm

// The size and the kind of access are one argument: run/core/access_kind.h.
	.macro	access name, size, how
	begin	\name
	pass
	skip_queued
	thin
	movl	$RB_SIZED(\size, \how), %r10d
	leave_to rb_hooked_access
	end	\name
	.endm

// Carry: go to the instrumented copy. Patched out, the call is `test`, which clears carry.
	.section rb_hooks, "ax", @progbits
	begin	probe
	skip_queued
	leave_to rb_sampling_probe
	end	probe

	.irp	size, 1, 2, 4, 8, 16
	access	read\size, \size, RB_HOW_READ
	access	write\size, \size, RB_HOW_WRITE
	.endr

	.macro	range name, function
	begin	\name
	pass
	skip_queued
	movq	%rsi, %r10
	leave_to \function
	end	\name
	.endm
	range	read_range, rb_hooked_read_range
	range	write_range, rb_hooked_write_range

// The pointer that is there already is often written again, which is not checked.
	begin	vptr_update
	cmpq	%rsi, (%rdi)
	je	2f
	pass
	movl	$RB_SIZED(8, RB_HOW_WRITE), %r10d
	leave_to rb_hooked_access
2:	ret
	end	vptr_update

	begin	func_entry
	leave_to rb_hooked_entry
	end	func_entry

	begin	func_exit
	leave_to rb_hooked_exit
	end	func_exit

// No site: the call is not patched; the gate is closed.
	.text
	begin	gate
	cmpb	$0, rb_gates_on(%rip)
	je	2f
	leave_to rb_sampling_gate
2:	ret
	end	gate

// Inline assembly orders threads (inline_assembly.c). Nothing is done while tracking is paused: rb_idle() of run/core/rt.h.
	.macro	ordering name, function
	begin	\name
	cmpb	$RB_PAUSED, rb_process+RB_PAUSED_AT(%rip)
	je	2f
	movq	%rsi, %r10
	leave_to \function
2:	ret
	end	\name
	.endm
	ordering asm_release, rb_hooked_asm_release
	ordering asm_acquire, rb_hooked_asm_acquire
	ordering asm_fence, rb_hooked_asm_fence

	.section .note.GNU-stack, "", @progbits
