// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gaps between successes of independent trials: the number of failures before the next success, which has
// probability p. The distribution is geometric. It is drawn from a table instead of a logarithm, because a
// sampler draws a gap for every access it takes.
//
// below[g] is P(gap <= g) as a fraction of 2^64, for g < RB_GAPS. A uniform 64-bit number u gives the first
// gap g with u < below[g]. `start` holds the first candidate for the top eight bits of u.
//
// Beyond the table the distribution has no memory: RB_GAPS failures are counted and a new gap is added,
// drawn bit by bit. The binary digits of a geometric number are independent, and digit k is 1 with
// probability q / (1 + q), q = (1 - p)^(2^k). This takes the same time for p = 1e-15 as for p = 1e-3.
#ifndef RB_BASE_GAPS_H
#define RB_BASE_GAPS_H

#include "base/rng.h"

#define RB_GAPS       1024u
#define RB_GAP_END    UINT64_MAX // never: p is 0
#define RB_GAP_DIGITS 60u

struct rb_gaps {
    uint64_t below[RB_GAPS];
    uint16_t start[256];
    uint64_t digit[RB_GAP_DIGITS]; // P(digit k of a gap is 1) as a fraction of 2^64
    bool never;
};

static inline void rb_gaps_init(struct rb_gaps *t, double p)
{
    double fail = 1, q = 1 - p; // (1 - p)^g, (1 - p)^(2^k)
    uint32_t g = 0;

    t->never = p <= 0;
    for (uint32_t i = 0; i < RB_GAPS; i++) {
        fail *= 1 - p;
        const double below = (1 - fail) * 0x1p64;
        t->below[i] = below < 0x1p64 ? (uint64_t)below : UINT64_MAX;
    }
    for (uint32_t top = 0; top < 256; top++) {
        while (g < RB_GAPS && (uint64_t)top << 56 >= t->below[g])
            g++;
        t->start[top] = (uint16_t)g;
    }
    for (uint32_t k = 0; k < RB_GAP_DIGITS; k++, q *= q)
        t->digit[k] = (uint64_t)(q / (1 + q) * 0x1p64);
}

static RB_NOINLINE uint64_t rb_gaps_draw_digits(const struct rb_gaps *t, struct rb_rng *r)
{
    uint64_t gap = 0;

    for (uint32_t k = 0; k < RB_GAP_DIGITS; k++)
        gap |= (uint64_t)(rb_rng_next(r) < t->digit[k]) << k;
    return gap;
}

static inline uint64_t rb_gaps_draw(const struct rb_gaps *t, struct rb_rng *r)
{
    if (RB_UNLIKELY(t->never))
        return RB_GAP_END;
    const uint64_t u = rb_rng_next(r);
    uint32_t g = t->start[u >> 56];
    while (g < RB_GAPS && u >= t->below[g])
        g++;
    return RB_LIKELY(g < RB_GAPS) ? g : RB_GAPS + rb_gaps_draw_digits(t, r);
}

#endif
