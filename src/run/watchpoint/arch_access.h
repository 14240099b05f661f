// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The memory access of one instruction of the machine's code. For traps, which come after an instruction
// and name neither the bytes it touched nor whether it wrote. Only forms that compilers use for plain loads
// and stores are known; for anything else the trap is dropped. Another machine is another arch_access_*.c.
#ifndef RB_RUN_WATCHPOINT_ARCH_ACCESS_H
#define RB_RUN_WATCHPOINT_ARCH_ACCESS_H

#include <ucontext.h>

#include "run/core/rt.h"

#define RB_CODE_BYTES 15u // the longest instruction

struct rb_code {
    uint8_t bytes; // its length
    // A jump, call, atomic operation, fence, change of the stack pointer or unknown form: the code behind
    // it is not decoded.
    bool barrier;
    bool memory;        // touches memory by an address of its own
    bool known;         // the form is known, and the next fields are valid:
    bool reads, writes; // both: a plain read-modify-write
    uint8_t size;
    bool on_frame;     // the address comes from the stack pointer or the frame pointer: a spill, or a local
    bool lost;         // it has overwritten a register of its address
    uintptr_t address; // if not lost; from the registers as they are after it
};

// Decodes the instruction at `pc`, of which RB_CODE_BYTES are readable. The registers are those of the
// context, after the instruction: `address` is right only for the instruction that the context comes from.
RB_HIDDEN void rb_arch_code(uintptr_t pc, const ucontext_t *context, struct rb_code *code);

RB_INLINE uintptr_t rb_arch_pc(const ucontext_t *context)
{
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
}

// Returns the interrupted frame, as if it had called from `pc`.
RB_INLINE struct rb_unwind_frame rb_arch_frame(const ucontext_t *context, uintptr_t pc)
{
    return (struct rb_unwind_frame){pc, (uintptr_t)context->uc_mcontext.gregs[REG_RSP],
                                    (uintptr_t)context->uc_mcontext.gregs[REG_RBP]};
}

#endif
