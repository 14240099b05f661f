// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The text of an asm statement, as far as it tells how the statement orders threads. Names of operands are
// numbers already, registers begin with "%%", or with "%" in statements without operands.
#ifndef RB_PLUGIN_ASM_TEXT_H
#define RB_PLUGIN_ASM_TEXT_H

struct asm_text {
    bool empty;     // no instruction: a barrier for the compiler, or a comment
    bool moves;     // one instruction, a move: it reads or writes, and not both
    bool locked;    // the prefix lock
    bool exchanges; // xchg, which locks if it has an operand in memory
    bool fence;     // mfence, lfence, sfence
    bool on_stack;  // memory at the stack pointer: "(%%rsp)"
    bool elsewhere; // memory at another register by name: "(%%rdi)"
};

// A pointer in an operand: "8(%1)" is operand 1, offset 8.
struct asm_base {
    unsigned operand;
    long offset;
    bool exact; // the address is the pointer plus the offset
};

void asm_text_read(const char *text, asm_text *t);

// Finds the next pointer in an operand. Returns the place behind it, or NULL if there is none.
const char *asm_text_next_base(const char *text, asm_base *base);

#endif
