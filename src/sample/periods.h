// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parts of an execution that PACER and RPT sample whole, computed alike for the trace and for the
// running program.
#ifndef RB_SAMPLE_PERIODS_H
#define RB_SAMPLE_PERIODS_H

#include "base/gaps.h"

// ---- PACER ---------------------------------------------------------------------------------------------

// Time is cut into periods of `length` accesses, and each is a sampling period with probability P,
// independently. Returns the number of accesses from the end of one sampling period to the beginning of the
// next, or RB_GAP_END if there is none.
static inline uint64_t rb_pacer_gap(const struct rb_gaps *gaps, struct rb_rng *rng, uint64_t length)
{
    const uint64_t periods = rb_gaps_draw(gaps, rng);

    return periods < RB_GAP_END / length ? periods * length : RB_GAP_END;
}

// ---- RPT -----------------------------------------------------------------------------------------------

// RPT's numbers (Dynamic Race Detection with O(1) Samples, POPL 2023, theorem 3.3 and algorithm 3):
//   m = 4T + 2h      k = 4m / eps events a window      r = 15 ln(1/delta) / (2 eps) windows
// and a beginning of 12m / eps events that is analysed whole. Computed without the mathematics library,
// which a watched program may not have.

// Returns the natural logarithm of a positive normal number, to a few units in the last place: x = f 2^e
// with f near 1, ln f = 2 artanh((f - 1) / (f + 1)). The terms of this series decrease by a factor of 34
// there.
static inline double rb_ln(double x)
{
    union {
        double value;
        uint64_t bits;
    } f = {x};
    int e = (int)(f.bits >> 52 & 0x7ff) - 1023;
    double sum = 0;

    f.bits = (f.bits & 0xfffffffffffffu) | UINT64_C(1023) << 52;
    if (f.value > 1.4142135623730951) {
        f.value /= 2;
        e++;
    }
    const double z = (f.value - 1) / (f.value + 1), square = z * z;
    for (int i = 25; i > 0; i -= 2)
        sum = sum * square + 1.0 / i;
    return 2 * z * sum + e * 0.693147180559945309417232;
}

// Rounds a count up; a count that no run can reach becomes 2^62.
static inline uint64_t rb_rpt_count(double x)
{
    const uint64_t floor = x < 0x1p62 ? (uint64_t)x : UINT64_C(1) << 62;

    return floor + (x < 0x1p62 && (double)floor < x);
}

static inline double rb_rpt_m(uint64_t threads, uint64_t locks)
{
    return 4.0 * (double)threads + 2.0 * (double)locks;
}

static inline uint64_t rb_rpt_window(double m, double eps)
{
    return rb_rpt_count(4 * m / eps);
}

static inline uint64_t rb_rpt_beginning(double m, double eps)
{
    return rb_rpt_count(12 * m / eps);
}

static inline uint64_t rb_rpt_windows(double eps, double delta)
{
    return rb_rpt_count(-15 * rb_ln(delta) / (2 * eps));
}

#endif
