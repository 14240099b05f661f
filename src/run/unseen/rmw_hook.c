// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The hooks, compiled with general registers alone: the program's vector registers are saved only for the
// work that remains (rb_rmw_call_saved).
#include "run/unseen/rmw.h"
#include "run/unseen/rmw_cell.h"

#define RSP 4u

_Static_assert(sizeof(struct rb_rmw_frame) == 152, "the stubs know the frame");

// Returns the program's value of a register. Its rsp is that of the push, and the words above it.
static uintptr_t register_of(const struct rb_rmw_frame *f, unsigned number)
{
    return number == RSP ? (uintptr_t)(f + 1) + RB_RMW_LOWERED - 16 : f->reg[number];
}

// Returns the distance to the word of a bit string that has the bit: signed, in the operand's size.
static uintptr_t distance_of_bit(const struct rb_rmw_site *s, uintptr_t bit)
{
    const intptr_t number = s->size == 8   ? (intptr_t)bit
                            : s->size == 4 ? (intptr_t)(int32_t)bit
                                           : (intptr_t)(int16_t)bit;
    const intptr_t bits = 8 * (intptr_t)s->size;

    return (uintptr_t)((number - ((number % bits) + bits) % bits) / 8);
}

static uintptr_t address_of(const struct rb_rmw_frame *f, const struct rb_rmw_site *s)
{
    uintptr_t address = (uintptr_t)(intptr_t)s->displacement;

    if (s->base == RB_RMW_RIP)
        address += s->pc + s->length;
    else if (s->base != RB_RMW_NONE)
        address += register_of(f, s->base);
    if (s->index != RB_RMW_NONE)
        address += f->reg[s->index] << s->scale;
    if (s->bit != RB_RMW_NONE)
        address += distance_of_bit(s, f->reg[s->bit]);
    return address;
}

// Tracking is asked before the instruction, and again after it (docs/explanation/runtime.md, section 3). A
// site that stays in the place of the address says that it was paused before.
void rb_rmw_before(struct rb_rmw_frame *f)
{
    const struct rb_rmw_site *s = (const struct rb_rmw_site *)f->address;

    if (rb_idle())
        return;
    f->address = address_of(f, s);
    if (!rb_unseen_quick(s->library, false))
        rb_rmw_call_saved(rb_unseen_before, s->library, f->address);
}

void rb_rmw_after(const struct rb_rmw_site *s, uintptr_t address)
{
    if (rb_idle())
        return;
    if (RB_UNLIKELY(address == (uintptr_t)s))
        rb_rmw_call_saved(rb_rmw_lost, s->library, s->pc);
    else if (!rb_unseen_quick(s->library, true))
        rb_rmw_call_saved(rb_unseen_after, s->library, address);
}
