// Seeded random numbers (xoshiro256++, seeded by splitmix64). Every policy that draws takes one of these, so
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
        seed += 0x9e3779b97f4a7c15u;
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

// Uniform in [0, n); n > 0. The bias of the multiplication is below n / 2^64.
static inline uint64_t rb_rng_below(struct rb_rng *r, uint64_t n)
{
    return (uint64_t)(((unsigned __int128)rb_rng_next(r) * n) >> 64);
}

// Uniform in [0, 1).
static inline double rb_rng_unit(struct rb_rng *r)
{
    return (double)(rb_rng_next(r) >> 11) * 0x1p-53;
}

static inline bool rb_rng_chance(struct rb_rng *r, double p)
{
    return rb_rng_unit(r) < p;
}

// Natural logarithm of x > 0 without libm (the runtime links libc alone): x = m 2^e with m in [sqrt(1/2),
// sqrt(2)), ln m = 2 atanh((m - 1) / (m + 1)) by its series. Absolute error below 1e-9.
static inline double rb_ln(double x)
{
    union {
        double d;
        uint64_t u;
    } v = {x};
    int e = (int)(v.u >> 52) - 1023;

    v.u = (v.u & ((UINT64_C(1) << 52) - 1)) | (UINT64_C(1023) << 52);
    if (v.d > 1.4142135623730951) {
        v.d *= 0.5;
        e++;
    }
    const double z = (v.d - 1) / (v.d + 1), q = z * z;
    double sum = 0;
    for (int k = 9; k >= 1; k -= 2)
        sum = sum * q + 1.0 / k;
    return 2 * z * sum + e * 0.6931471805599453;
}

// Failures before the first success of independent trials with success probability p; `scale` is
// 1 / ln(1 - p). Inversion: floor(ln U / ln(1 - p)), U uniform in (0, 1].
static inline uint64_t rb_rng_geometric(struct rb_rng *r, double scale)
{
    const double gap = rb_ln(1.0 - rb_rng_unit(r)) * scale;

    return gap < 9e18 ? (uint64_t)gap : UINT64_MAX;
}

#endif
