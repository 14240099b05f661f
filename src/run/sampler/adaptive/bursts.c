// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bursts of sites and gates: their lengths, and the end of a burst. A site that wakes has a number of calls
// taken; a gate stays open for a number of passes. docs/explanation/sampling.md.
#include "run/sampler/adaptive/adaptive.h"

#include "run/core/arch.h"

#define GATE_LEAST  32u  // least passes through a gate; else as many as the calls of its sites
#define OTHERS      8u   // times that a call by another thread prolongs a burst
#define STAMP_SHIFT 14   // resolution of the start time of a burst: 2^14 ticks
#define SLOW_NS     1e6  // a longer burst is followed by another one
#define SLOW_GATE   2    // factor on SLOW_NS for a gate
#define GATE_OVER   32u  // calls without a sample, behind a gate, before the gate closes
#define OVER        512u // the same of one site, before it sleeps

uint32_t rb_burst;

static uint16_t burst_stamp(void)
{
    return (uint16_t)(rb_arch_ticks() >> STAMP_SHIFT);
}

static bool give_calls(struct rb_site *s, uint32_t calls)
{
    if (rb_site_is_gate(s))
        calls = calls > GATE_LEAST ? calls : GATE_LEAST;
    s->left = (uint16_t)calls;
    s->others = OTHERS;
    s->given = burst_stamp();
    return true;
}

bool rb_burst_give_first(struct rb_site *s)
{
    return give_calls(s, rb_burst > RB_BURST_FIRST ? rb_burst : RB_BURST_FIRST);
}

bool rb_burst_give(struct rb_site *s)
{
    return give_calls(s, rb_burst);
}

bool rb_burst_give_gate(struct rb_site *s)
{
    return rb_site_is_gate(s) && give_calls(s, rb_burst);
}

bool rb_burst_give_window(struct rb_site *s)
{
    return rb_site_is_gate(s) && give_calls(s, UINT16_MAX);
}

void rb_burst_give_again(void)
{
    for (uint32_t i = 0; i < rb_sites_count(); i++) {
        struct rb_site *s = rb_site_number(i);
        if (rb_burst_is_over(s) && !rb_site_is_gate(s))
            give_calls(s, rb_burst);
    }
}

bool rb_burst_is_spent(struct rb_site *s)
{
    return s->left == 0 && (rb_site_is_gate(s) || !s->gate);
}

void rb_burst_meet(const struct rb_self *me, struct rb_site *s)
{
    if (s->last == (uint16_t)me->id)
        return;
    s->last = (uint16_t)me->id;
    if (s->others && s->left < RB_BURST_LEAST) {
        s->others--;
        s->left = RB_BURST_LEAST;
        s->given = burst_stamp();
    }
}

bool rb_burst_was_slow(const struct rb_site *s, double ticks_a_ns)
{
    const double units = SLOW_NS * ticks_a_ns / (1 << STAMP_SHIFT);
    const uint16_t since = (uint16_t)(burst_stamp() - s->given);

    return s->left && s->state == RB_SITE_AWAKE && since > (rb_site_is_gate(s) ? SLOW_GATE * units : units);
}

// A site behind a gate stays awake for some calls: patching its code is costly, and its calls end once the
// gate closes. `given` counts these calls while `left` is 0.
void rb_burst_end(struct rb_self *me, struct rb_site *s)
{
    struct rb_site *gate;

    if (s->left)
        s->left = s->given = 0;
    if (!me->sampling.behind || s->given >= OVER) {
        rb_site_sleep(me, s);
        return;
    }
    s->given++;
    if (++me->sampling.overs == GATE_OVER && (gate = rb_site_known(me->sampling.gate)) &&
        rb_site_is_gate(gate)) {
        gate->left = 0;
        rb_site_sleep(me, gate);
    }
}
