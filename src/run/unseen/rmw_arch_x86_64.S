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

// The vector registers, as far as they are in use (Intel SDM volume 1, section 13.6: XINUSE, by xgetbv). Moves
// take a tenth of the time of xsavec and xrstor. Registers not in use are zero, and become so again. Registers
// are not written wider than they are in use: instructions that mix widths would be slow from then on.
#define AVX 4
#define MASKS 0x20  // k0 to k7
#define WIDE 0x40   // upper halves of zmm0 to zmm15
#define MORE 0x80   // zmm16 to zmm31
#define AT_MASKS 8
#define AT_LOW 128  // registers 0 to 15
#define AT_MORE 1152
#define AREA_LEAST 640 // with ymm
#define AREA_MOST 2176

.macro move_registers instruction, kind, at, width, numbers:vararg
	.irp	number, \numbers
	\instruction	%\kind\number, \at + (\number & 15) * \width(%rsp)
	.endr
.endm
.macro load_registers instruction, kind, at, width, numbers:vararg
	.irp	number, \numbers
	\instruction	\at + (\number & 15) * \width(%rsp), %\kind\number
	.endr
.endm
#define LOW_NUMBERS 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
#define MORE_NUMBERS 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
#define MASK_NUMBERS 0, 1, 2, 3, 4, 5, 6, 7

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
	pushq	%rbx
	.cfi_offset %rbx, -24
	movq	%rdi, %r8
	movl	%esi, %edi
	movq	%rdx, %rsi
	call	find_in_use
	movl	%eax, %ebx
	subq	$AREA_LEAST, %rsp
	testb	$WIDE | MORE, %bl
	jz	1f
	subq	$AREA_MOST - AREA_LEAST, %rsp
1:	andq	$-64, %rsp
	stmxcsr	(%rsp)

	testb	$WIDE, %bl
	jz	1f
	move_registers vmovdqu64, zmm, AT_LOW, 64, LOW_NUMBERS
	jmp	3f
1:	testb	$AVX, %bl
	jz	2f
	move_registers vmovdqu, ymm, AT_LOW, 32, LOW_NUMBERS
	jmp	3f
2:	move_registers movups, xmm, AT_LOW, 16, LOW_NUMBERS
3:	testb	$MORE, %bl
	jz	4f
	move_registers vmovdqu64, zmm, AT_MORE, 64, MORE_NUMBERS
4:	testb	$MASKS, %bl
	jz	5f
	move_registers kmovq, k, AT_MASKS, 8, MASK_NUMBERS
5:	call	*%r8

	call	find_in_use
	andl	$MORE | MASKS, %eax
	jz	8f
	testb	$MORE, %bl
	jz	6f
	load_registers vmovdqu64, zmm, AT_MORE, 64, MORE_NUMBERS
	jmp	7f
6:	testb	$MORE, %al
	jz	7f
	.irp	number, MORE_NUMBERS
	vpxord	%xmm\number, %xmm\number, %xmm\number
	.endr
7:	testb	$MASKS, %bl
	jz	9f
	load_registers kmovq, k, AT_MASKS, 8, MASK_NUMBERS
	jmp	8f
9:	testb	$MASKS, %al
	jz	8f
	.irp	number, MASK_NUMBERS
	kxorq	%k\number, %k\number, %k\number
	.endr

8:	testb	$WIDE, %bl
	jz	1f
	load_registers vmovdqu64, zmm, AT_LOW, 64, LOW_NUMBERS
	jmp	3f
1:	testb	$AVX, %bl
	jz	2f
	load_registers vmovdqu, ymm, AT_LOW, 32, LOW_NUMBERS
	jmp	3f
2:	cmpl	$0, rb_rmw_vectors(%rip)
	je	2f
	vzeroupper
2:	load_registers movups, xmm, AT_LOW, 16, LOW_NUMBERS
3:	stmxcsr	4(%rsp)
	movl	4(%rsp), %eax
	cmpl	(%rsp), %eax
	je	4f
	ldmxcsr	(%rsp)
4:	movq	-8(%rbp), %rbx
	leave
	.cfi_def_cfa %rsp, 8
	.cfi_restore %rbp
	.cfi_restore %rbx
	ret
	.cfi_endproc
	.size	rb_rmw_call_saved, . - rb_rmw_call_saved

	.type	find_in_use, @function
find_in_use: // changes rax, rcx, rdx
	.cfi_startproc
	movl	rb_rmw_vectors(%rip), %eax
	cmpb	$0, rb_rmw_asks(%rip)
	je	1f
	movl	$1, %ecx
	xgetbv
	andl	rb_rmw_vectors(%rip), %eax
1:	ret
	.cfi_endproc
	.size	find_in_use, . - find_in_use

	.section .note.GNU-stack, "", @progbits
