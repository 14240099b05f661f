// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Seeded random numbers (xoshiro256++, seeded by splitmix64). Every policy that draws takes a generator, so
// that a run is a function of its seed. Not for secrets.
#ifndef RB_BASE_RNG_H
#define RB_BASE_RNG_H

#include "base/types.h"

struct rb_rng {
    uint64_t s[4];
};

static inline uint64_t rb_mix64(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline void rb_rng_seed(struct rb_rng *r, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        seed += RB_GOLDEN;
        r->s[i] = rb_mix64(seed);
    }
}

static inline uint64_t rb_rng_next(struct rb_rng *r)
{
    uint64_t *s = r->s;
    const uint64_t sum = s[0] + s[3];
    const uint64_t result = ((sum << 23) | (sum >> 41)) + s[0];
    const uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = (s[3] << 45) | (s[3] >> 19);
    return result;
}

// Returns a uniform number in [0, n); n > 0. The bias of the multiplication is below n / 2^64.
static inline uint64_t rb_rng_below(struct rb_rng *r, uint64_t n)
{
    return (uint64_t)(((unsigned __int128)rb_rng_next(r) * n) >> 64);
}

// Returns a uniform number in [0, 1).
static inline double rb_rng_unit(struct rb_rng *r)
{
    return (double)(rb_rng_next(r) >> 11) * 0x1p-53;
}

static inline bool rb_rng_chance(struct rb_rng *r, double p)
{
    return rb_rng_unit(r) < p;
}

#endif
