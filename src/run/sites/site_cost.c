// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cost of sleeping hooks behind gates and probes, which no clock measures, for the sampler that goes by
// cost (docs/explanation/sampling.md).
#include "run/sites/sites.h"

#include "run/core/arch.h"

#define PASS_TICKS  60u // of a change to the other copy, beside the measured time
#define HOOKS_SHARE 16u // sleeping hooks take 1/HOOKS_SHARE of the time in a copy

uint64_t rb_gate_pass(struct rb_self *me, struct rb_site *gate)
{
    struct rb_sampling *s = &me->sampling;
    const uint64_t ticks = rb_arch_ticks(), before = s->gate == gate->pc ? ticks - s->gate_ticks : 0;

    s->gate = gate->pc;
    s->gate_ticks = ticks;
    return PASS_TICKS + (before < RB_LONGEST ? before : RB_LONGEST) / HOOKS_SHARE;
}

void rb_gate_closed(struct rb_self *me)
{
    me->sampling.gate = 0;
}

void rb_gate_looked(struct rb_self *me, struct rb_site *s)
{
    if (me->sampling.gate)
        s->gate = me->sampling.gate;
}
