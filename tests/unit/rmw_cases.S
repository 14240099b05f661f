// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions with one atomic instruction each, of every form, for test_rmw.c. A function loads all registers,
// the flags and the red zone from rmw_in, runs the instruction, and stores all of them to rmw_out.

#define GPRS 0     // 16 words, that of rsp unused
#define FLAGS 128
#define RED 136    // 16 words below rsp
#define ABOVE 264  // 8 words from rsp
#define VECTORS 328 // 16 times 32 bytes

	.bss
	.globl	rmw_in, rmw_out, rmw_memory, rmw_hits, rmw_address
	.protected rmw_in, rmw_out, rmw_memory, rmw_hits, rmw_address
	.p2align 6
rmw_memory:
	.skip	4096
rmw_in:	.skip	1024
rmw_out: .skip	1024
rmw_address: .skip 8
saved:	.skip	8
rmw_hits: .skip	8

	.section .data.rel.ro, "aw"
	.globl	rmw_cases, rmw_cases_end
rmw_cases:

	.text
.macro load_all
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	pushq	%r12
	.cfi_adjust_cfa_offset 8
	pushq	%r13
	.cfi_adjust_cfa_offset 8
	pushq	%r14
	.cfi_adjust_cfa_offset 8
	pushq	%r15
	.cfi_adjust_cfa_offset 8
	subq	$72, %rsp
	.cfi_adjust_cfa_offset 72
	.irp	i, 0, 1, 2, 3, 4, 5, 6, 7
	movq	rmw_in + ABOVE + 8 * \i(%rip), %rax
	movq	%rax, 8 * \i(%rsp)
	.endr
	pushq	rmw_in + FLAGS(%rip)
	popfq
	.irp	i, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
	movq	rmw_in + RED + 8 * \i - 8(%rip), %rax
	movq	%rax, -8 * \i(%rsp)
	.endr
	.irp	i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	vmovdqu	rmw_in + VECTORS + 32 * \i(%rip), %ymm\i
	.endr
	movq	rmw_in + 0(%rip), %rax
	movq	rmw_in + 8(%rip), %rcx
	movq	rmw_in + 16(%rip), %rdx
	movq	rmw_in + 24(%rip), %rbx
	movq	rmw_in + 40(%rip), %rbp
	movq	rmw_in + 48(%rip), %rsi
	movq	rmw_in + 56(%rip), %rdi
	.irp	i, 8, 9, 10, 11, 12, 13, 14, 15
	movq	rmw_in + 8 * \i(%rip), %r\i
	.endr
.endm

.macro store_all
	movq	%rax, rmw_out + 0(%rip)
	movq	%rcx, rmw_out + 8(%rip)
	movq	%rdx, rmw_out + 16(%rip)
	movq	%rbx, rmw_out + 24(%rip)
	movq	%rbp, rmw_out + 40(%rip)
	movq	%rsi, rmw_out + 48(%rip)
	movq	%rdi, rmw_out + 56(%rip)
	.irp	i, 8, 9, 10, 11, 12, 13, 14, 15
	movq	%r\i, rmw_out + 8 * \i(%rip)
	.endr
	.irp	i, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
	movq	-8 * \i(%rsp), %rax
	movq	%rax, rmw_out + RED + 8 * \i - 8(%rip)
	.endr
	.irp	i, 0, 1, 2, 3, 4, 5, 6, 7
	movq	8 * \i(%rsp), %rax
	movq	%rax, rmw_out + ABOVE + 8 * \i(%rip)
	.endr
	.irp	i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	vmovdqu	%ymm\i, rmw_out + VECTORS + 32 * \i(%rip)
	.endr
	pushfq
	popq	rmw_out + FLAGS(%rip)
	cld
	vzeroupper
	addq	$72, %rsp
	.cfi_adjust_cfa_offset -72
	popq	%r15
	.cfi_adjust_cfa_offset -8
	popq	%r14
	.cfi_adjust_cfa_offset -8
	popq	%r13
	.cfi_adjust_cfa_offset -8
	popq	%r12
	.cfi_adjust_cfa_offset -8
	popq	%rbp
	.cfi_adjust_cfa_offset -8
	popq	%rbx
	.cfi_adjust_cfa_offset -8
	ret
.endm

// An instruction, the form of its operand, and the instructions behind it. Beside it a function that puts the
// operand's address into rmw_address.
.macro case name, instruction, operand, bit=0, scale=0, behind
	.p2align 4
	.type	case_\@, @function
case_\@:
	.cfi_startproc
	load_all
	\instruction
	\behind
	store_all
	.cfi_endproc
	.size	case_\@, . - case_\@
	.p2align 4
	.type	address_\@, @function
address_\@:
	.cfi_startproc
	load_all
	leaq	\operand, %rax
	movq	%rax, rmw_address(%rip)
	store_all
	.cfi_endproc
	.size	address_\@, . - address_\@
	.section .rodata
name_\@: .asciz	"\instruction"
	.section .data.rel.ro, "aw"
	.quad	case_\@, address_\@, name_\@
	.long	\bit, \scale
	.text
.endm

#define NONE -1

.macro two_operands op
	case x, "lock \op\()b %al, (%rdi)", (%rdi), NONE
	case x, "lock \op\()w %cx, 6(%rsi)", 6(%rsi), NONE
	case x, "lock \op\()l %edx, 256(%r13)", 256(%r13), NONE
	case x, "lock \op\()q %rbx, (%r12,%rcx,8)", "(%r12,%rcx,8)", NONE
	case x, "lock \op\()l %r9d, rmw_memory+16(%rip)", rmw_memory+16(%rip), NONE
	case x, "lock \op\()q %rax, -16(%rsp)", -16(%rsp), NONE
	case x, "lock \op\()q %rax, 8(%rsp,%rcx,2)", "8(%rsp,%rcx,2)", NONE
	case x, "lock \op\()l %eax, (%rsp)", (%rsp), NONE
.endm
.macro with_immediate op
	case x, "lock \op\()b $5, (%r14)", (%r14), NONE
	case x, "lock \op\()w $0x1234, (%rdi)", (%rdi), NONE
	case x, "lock \op\()l $-3, 8(%rdi,%rcx,4)", "8(%rdi,%rcx,4)", NONE
	case x, "lock \op\()q $0x12345678, rmw_memory+24(%rip)", rmw_memory+24(%rip), NONE
	case x, "lock \op\()q $1, 16(%rsp)", 16(%rsp), NONE
.endm
.macro one_operand op
	case x, "lock \op\()b (%rdi)", (%rdi), NONE
	case x, "lock \op\()w 2(%rsi)", 2(%rsi), NONE
	case x, "lock \op\()l (%rdi)", (%rdi), NONE
	case x, "lock \op\()q (%r15,%rcx)", "(%r15,%rcx)", NONE
	case x, "lock \op\()l rmw_memory+40(%rip)", rmw_memory+40(%rip), NONE
	case x, "lock \op\()q -128(%rsp)", -128(%rsp), NONE
.endm

	.irp	op, add, or, and, sub, xor, adc, sbb
	two_operands \op
	with_immediate \op
	.endr
	.irp	op, xadd, cmpxchg
	two_operands \op
	.endr
	.irp	op, inc, dec, not, neg
	one_operand \op
	.endr
	// xchg is atomic without a prefix
	case x, "xchgb %cl, (%rdi)", (%rdi), NONE
	case x, "xchgw %ax, 4(%rdi)", 4(%rdi), NONE
	case x, "xchgl %eax, (%rdi)", (%rdi), NONE
	case x, "xchgq %r8, (%rsi,%rcx,8)", "(%rsi,%rcx,8)", NONE
	case x, "xchgq %rbp, rmw_memory+48(%rip)", rmw_memory+48(%rip), NONE
	case x, "xchgq %rdx, -8(%rsp)", -8(%rsp), NONE
	case x, "lock xchgq %rdx, (%rdi)", (%rdi), NONE
	// the register of the address changes
	case x, "xchgq %rdi, (%rdi)", (%rdi), NONE
	case x, "lock xaddq %rsi, (%rsi)", (%rsi), NONE
	case x, "lock xaddq %rcx, (%rdi,%rcx,4)", "(%rdi,%rcx,4)", NONE
	case x, "lock cmpxchg8b (%rdi)", (%rdi), NONE
	case x, "lock cmpxchg8b 8(%rsi)", 8(%rsi), NONE
	case x, "lock cmpxchg16b (%r12)", (%r12), NONE
	case x, "lock cmpxchg16b 16(%rdi)", 16(%rdi), NONE
	// bits: in the operand, and in a string of bits
	.irp	op, bts, btr, btc
	case x, "lock \op\()w $3, (%rdi)", (%rdi), NONE
	case x, "lock \op\()l $31, 4(%rdi)", 4(%rdi), NONE
	case x, "lock \op\()q $63, rmw_memory+8(%rip)", rmw_memory+8(%rip), NONE
	case x, "lock \op\()w %cx, (%rdi)", (%rdi), 1, 4
	case x, "lock \op\()l %r10d, (%rdi)", (%rdi), 10, 5
	case x, "lock \op\()q %r11, 8(%rdi)", 8(%rdi), 11, 6
	.endr
	// instructions behind it that move
	case x, "lock incl (%rdi)", (%rdi), NONE, 0, "seto %bl; adcq $0, %rdx"
	case x, "lock decl (%rdi)", (%rdi), NONE, 0, "sete %al"
	case x, "lock decb (%rsi)", (%rsi), NONE, 0, "je 1f; incq %rax; 1: nop"
	case x, "lock xaddl %eax, (%rdi)", (%rdi), NONE, 0, "jmp 1f; ud2; 1: nop"
	case x, "lock orl $0, (%rdi)", (%rdi), NONE, 0, "leaq rmw_memory(%rip), %rax"
	case x, "lock addq %rcx, (%rdi)", (%rdi), NONE, 0, "cmpl $7, rmw_memory+64(%rip)"
	case x, "xchgl %eax, (%rdi)", (%rdi), NONE, 0, "movq %rax, -8(%rsp); pushq %rcx; popq %rdx"
	case x, "xchgl %eax, (%rdi)", (%rdi), NONE, 0, "cltq; cqto; nop"
	// none can
	case x, "lock incb (%rsi)", (%rsi), NONE, 0, "1: stc; jnc 1b"
	case x, "lock decl (%rdi)", (%rdi), NONE, 0, "lock decl (%rsi)"
	case x, "xchgl %eax, (%rdi)", (%rdi), NONE, 0, "nop; 1: clc; jc 1b"

	// ---- for the threads of test_rmw.c -----------------------------------------------------------------

	.macro function name
	.p2align 4
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc
	.endm
	.macro end name
	.cfi_endproc
	.size	\name, . - \name
	.endm

	function rmw_xadd // returns the value before
	movl	$1, %eax
	lock xaddq %rax, rmw_hits(%rip)
	ret
	end rmw_xadd

	function rmw_increment // by one, with a jump behind it that moves and comes back
1:	movl	(%rdi), %eax
	leal	1(%rax), %ecx
	lock cmpxchgl %ecx, (%rdi)
	jne	1b
	ret
	end rmw_increment

	function rmw_decrement // a jump, of all that follows
	lock decl (%rdi)
	ret
	end rmw_decrement

	function rmw_trapped // no room
	lock incl (%rdi)
1:	subl	$1, %esi
	jnz	1b
	ret
	end rmw_trapped

	function rmw_wide // (in, out): with zmm0 to zmm31 and k0 to k7
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7
	kmovq	2048 + 8 * \n(%rdi), %k\n
	.endr
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	vmovdqu64 64 * \n(%rdi), %zmm\n
	.endr
	lock incq rmw_hits(%rip)
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7
	kmovq	%k\n, 2048 + 8 * \n(%rsi)
	.endr
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	vmovdqu64 %zmm\n, 64 * \n(%rsi)
	.endr
	stmxcsr	2112(%rsi)
	vzeroupper
	ret
	end rmw_wide

	function rmw_narrow // (out): all vector registers, where none is in use
	vzeroall
	.irp	n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	vpxord	%xmm\n, %xmm\n, %xmm\n
	.endr
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7
	kxorq	%k\n, %k\n, %k\n
	.endr
	lock incq rmw_hits(%rip)
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7
	kmovq	%k\n, 2048 + 8 * \n(%rdi)
	.endr
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	vmovdqu64 %zmm\n, 64 * \n(%rdi)
	.endr
	vzeroupper
	ret
	end rmw_narrow

	.section .data.rel.ro, "aw"
rmw_cases_end:
	.section .note.GNU-stack, "", @progbits
