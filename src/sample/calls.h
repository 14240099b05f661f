// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Counts calls of functions: the decision of LiteRace's seven samplers (PLDI 2009, table 3), made once a
// call, for the trace and for the running program (run/sampler/sampling_regions.c) alike.
//
// Bursty policies take RB_BURST consecutive calls, then skip RB_BURST * (1/rate - 1) calls, which brings
// the share down to the next of their rates. The last rate stays in force. All begin with a burst: code is
// cold the first time. Calls are counted, not drawn, as in the paper; only those with a `chance` draw.
#ifndef RB_SAMPLE_CALLS_H
#define RB_SAMPLE_CALLS_H

#include "base/rng.h"

#define RB_BURST 10u

struct rb_call_policy {
    bool per_thread; // calls are counted for each thread separately ("TL"), else for all together ("G")
    bool uncold;     // take all but the first burst
    double chance;   // not bursty: this share of calls at random
    unsigned rates;
    double rate[11];
};

// Calls of one function (in one thread): zero before the first.
struct rb_calls {
    uint16_t left; // calls left in this burst or gap
    uint8_t rate;  // index of the rate in force
    uint8_t phase; // enum rb_call_phase
};
_Static_assert(sizeof(struct rb_calls) == 4, "one word: exchanged whole where threads share it");

enum rb_call_phase { RB_CALLS_FIRST, RB_CALLS_TAKING, RB_CALLS_PASSING };

static inline void rb_calls_begin_gap(const struct rb_call_policy *p, struct rb_calls *c)
{
    if (c->rate + 1u < p->rates)
        c->rate++;
    c->left = (uint16_t)(RB_BURST * (1 / p->rate[c->rate] - 1) + 0.5);
    c->phase = c->left ? RB_CALLS_PASSING : RB_CALLS_FIRST;
}

// Counts one call and returns true if it is taken.
static inline bool rb_call(const struct rb_call_policy *p, struct rb_calls *c, struct rb_rng *rng)
{
    if (p->chance > 0)
        return rb_rng_chance(rng, p->chance);
    if (p->uncold) {
        if (c->left == RB_BURST)
            return true;
        c->left++;
        return false;
    }
    if (c->phase == RB_CALLS_FIRST) {
        c->phase = RB_CALLS_TAKING;
        c->left = RB_BURST;
    }
    const bool taken = c->phase == RB_CALLS_TAKING;
    if (--c->left == 0) {
        if (taken)
            rb_calls_begin_gap(p, c);
        else
            c->phase = RB_CALLS_FIRST;
    }
    return taken;
}

#endif
