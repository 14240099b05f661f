// PACER's periods, the same for the trace and the running program: time is cut into periods of `length`
// accesses, and each is a sampling period with probability P, independently.
#ifndef RB_SAMPLE_PACER_H
#define RB_SAMPLE_PACER_H

#include "base/gaps.h"

// Accesses from the end of one sampling period to the beginning of the next; RB_GAP_END: there is none.
static inline uint64_t rb_pacer_gap(const struct rb_gaps *gaps, struct rb_rng *rng, uint64_t length)
{
    const uint64_t periods = rb_gaps_draw(gaps, rng);

    return periods < RB_GAP_END / length ? periods * length : RB_GAP_END;
}

#endif
