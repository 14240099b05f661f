// What the machine's code says of one memory access: for traps, which come after an instruction and name
// neither the bytes it touched nor whether it wrote. Only forms that compilers make of plain loads and stores
// are known; anything else is "not known", and the trap is dropped. Another machine is another
// arch_access_*.c.
#ifndef RB_RUN_WATCHPOINT_ARCH_ACCESS_H
#define RB_RUN_WATCHPOINT_ARCH_ACCESS_H

#include <ucontext.h>

#include "run/core/rt.h"

#define RB_CODE_BYTES 15u // the longest instruction

struct rb_code {
    uint8_t bytes; // its length
    // Jumps, calls, atomic operations, fences, a change of the stack pointer, forms that are not known: what
    // comes behind it is not looked at.
    bool barrier;
    bool memory;        // touches memory by an address of its own
    bool known;         // and these say how:
    bool reads, writes; // both: a plain read-modify-write
    uint8_t size;
    bool on_frame;     // the address comes from the stack pointer or the frame pointer: a spill, or a local
    bool lost;         // it has overwritten what its address was made of
    uintptr_t address; // if not lost; from the registers as they are after it
};

// The instruction at `pc`, of which RB_CODE_BYTES are readable. The registers are those of the context, after
// the instruction: `address` is right for the one that the context comes from alone.
RB_HIDDEN void rb_arch_code(uintptr_t pc, const ucontext_t *context, struct rb_code *code);

RB_INLINE uintptr_t rb_arch_pc(const ucontext_t *context)
{
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
}

// The interrupted frame, as if it had called from `pc`.
RB_INLINE struct rb_unwind_frame rb_arch_frame(const ucontext_t *context, uintptr_t pc)
{
    return (struct rb_unwind_frame){pc, (uintptr_t)context->uc_mcontext.gregs[REG_RSP],
                                    (uintptr_t)context->uc_mcontext.gregs[REG_RBP]};
}

#endif
