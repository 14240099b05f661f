// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The location of a value, as far as stack walks need it: the result of an expression of call frame
// information.
#ifndef RB_INPROC_CFI_PLACE_H
#define RB_INPROC_CFI_PLACE_H

#include "inproc/cfi_reader.h"

#pragma GCC visibility push(hidden)

// Numbers of registers (System V ABI, figure 3.36).
#define REG_BP 6
#define REG_SP 7
#define REG_PC 16

enum base { BASE_NONE, BASE_SP, BASE_BP, BASE_CFA };

// base + at, or *(base + at) + add
struct place {
    enum base base;
    bool loaded, known;
    uint64_t at, add;
};

static inline struct place place_constant(uint64_t value)
{
    return (struct place){.known = true, .at = value};
}

// Returns a register's value plus an offset. The pc is known; other registers than rsp and rbp are not.
static inline struct place place_register(uint64_t reg, uint64_t offset, uintptr_t pc)
{
    struct place p = place_constant(offset);

    if (reg == REG_SP)
        p.base = BASE_SP;
    else if (reg == REG_BP)
        p.base = BASE_BP;
    else if (reg == REG_PC)
        p.at += pc;
    else
        p.known = false;
    return p;
}

// Evaluates an expression, which starts with the CFA on its stack or with an empty stack. The result is not
// .known if a place cannot express it.
struct place rb_cfi_evaluate(struct reader *e, bool with_cfa, uintptr_t pc);

#pragma GCC visibility pop

#endif
