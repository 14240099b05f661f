// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Built with -fno-tree-loop-distribute-patterns, see vclock.c.
#include "engine/recent_clock.h"

#include <errno.h>

#include "engine/vclock.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static size_t rclock_bytes(uint32_t size)
{
    return sizeof(struct rb_rclock) + (size_t)size * sizeof(uint32_t) +
           (size_t)size / RB_RCLOCK_BLOCK * sizeof(uint64_t);
}

_Static_assert(sizeof(struct rb_rclock) == 64, "times start on a cache line");

static uint32_t rclock_lines(uint32_t size)
{
    return (uint32_t)((rclock_bytes(size) + 63) / 64);
}

struct rb_rclock *rb_rclock_new(struct rb_arena *a, uint32_t slots)
{
    const uint32_t size = rb_clock_room(slots);
    struct rb_rclock *c = rb_arena_zalloc(a, rclock_bytes(size));

    if (c) {
        c->refs = 1;
        c->size = size;
        c->lines = rclock_lines(size);
    }
    return c;
}

void rb_rclock_free(struct rb_arena *a, struct rb_rclock *c)
{
    rb_arena_free(a, c, rclock_bytes(c->size));
}

// Copies whole 64-byte lines: blocks of the arena are rounded up to them.
RB_SIMD static void copy_lines(void *restrict to, const void *restrict from, size_t bytes)
{
    uint64_t *t = __builtin_assume_aligned(to, 64);
    const uint64_t *f = __builtin_assume_aligned(from, 64);
    const size_t words = (bytes + 63) / 64 * 8;

    for (size_t i = 0; i < words; i++)
        t[i] = f[i];
}

// Copies times and stamps into a clock with more room; its further entries are zero.
static void copy_to_wider(struct rb_rclock *to, const struct rb_rclock *from)
{
    for (uint32_t i = 0; i < from->size; i++)
        to->time[i] = from->time[i];
    for (uint32_t b = 0; b < from->size / RB_RCLOCK_BLOCK; b++)
        rb_rclock_stamps(to)[b] = rb_rclock_stamps(from)[b];
}

bool rb_rclock_own(struct rb_arena *a, struct rb_rclock **c, uint32_t slots, bool *copied)
{
    struct rb_rclock *old = *c, *mine;

    *copied = false;
    if (RB_LIKELY(slots <= old->size)) {
        if (rb_rclock_alone(old))
            return true;
        mine = rb_arena_alloc(a, rclock_bytes(old->size));
        if (!mine)
            return false;
        copy_lines(mine, old, rclock_bytes(old->size));
        mine->refs = 1;
    } else {
        mine = rb_rclock_new(a, slots);
        if (!mine)
            return false;
        copy_to_wider(mine, old);
    }
    *copied = true;
    rb_rclock_unref(a, old);
    *c = mine;
    return true;
}

// Eight lanes; the compiler uses the vector instructions that the processor has.
typedef int32_t lanes __attribute__((vector_size(32)));
_Static_assert(RB_RCLOCK_BLOCK == 2 * sizeof(lanes) / sizeof(int32_t), "two vectors a block");

RB_SIMD void rb_rclock_join_blocks(struct rb_rclock *to, const struct rb_rclock *seen, uint32_t first,
                                   uint64_t blocks, uint64_t version)
{
    uint64_t *const stamps = rb_rclock_stamps(to);

    for (; blocks; blocks &= blocks - 1) {
        const uint32_t b = first + (uint32_t)__builtin_ctzll(blocks);
        lanes *t = (lanes *)(void *)(to->time + b * RB_RCLOCK_BLOCK);
        const lanes *s = (const lanes *)(const void *)(seen->time + b * RB_RCLOCK_BLOCK);
        for (int i = 0; i < 2; i++) {
            const lanes more = s[i] > t[i];
            t[i] = (s[i] & more) | (t[i] & ~more);
        }
        stamps[b] = version;
    }
}

// Sets `to` to max(mine, seen), all entries of at most 64 blocks: the copy and the join in one pass. Bit b
// of the result: an entry of block b rose.
static uint64_t join_into(struct rb_rclock *restrict to, const struct rb_rclock *restrict mine,
                          const struct rb_rclock *restrict seen)
{
    lanes *t = (lanes *)(void *)to->time;
    const lanes *m = (const lanes *)(const void *)mine->time, *s = (const lanes *)(const void *)seen->time;
    uint64_t rose = 0;

    for (uint32_t b = 0; b < mine->size / RB_RCLOCK_BLOCK; b++, t += 2, m += 2, s += 2) {
        const lanes more0 = s[0] > m[0], more1 = s[1] > m[1], any = more0 | more1;
        t[0] = (s[0] & more0) | (m[0] & ~more0);
        t[1] = (s[1] & more1) | (m[1] & ~more1);
        rose |= (uint64_t)((any[0] | any[1] | any[2] | any[3] | any[4] | any[5] | any[6] | any[7]) != 0) << b;
    }
    return rose;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static uint64_t join_into_avx2(struct rb_rclock *restrict to,
                                                               const struct rb_rclock *restrict mine,
                                                               const struct rb_rclock *restrict seen)
{
    __m256i *t = (__m256i *)(void *)to->time;
    const __m256i *m = (const __m256i *)(const void *)mine->time;
    const __m256i *s = (const __m256i *)(const void *)seen->time;
    uint64_t rose = 0;

    for (uint32_t b = 0; b < mine->size / RB_RCLOCK_BLOCK; b++, t += 2, m += 2, s += 2) {
        const __m256i m0 = _mm256_load_si256(m), m1 = _mm256_load_si256(m + 1);
        const __m256i t0 = _mm256_max_epi32(m0, _mm256_load_si256(s));
        const __m256i t1 = _mm256_max_epi32(m1, _mm256_load_si256(s + 1));
        const __m256i changed = _mm256_or_si256(_mm256_xor_si256(m0, t0), _mm256_xor_si256(m1, t1));
        _mm256_store_si256(t, t0);
        _mm256_store_si256(t + 1, t1);
        rose |= (uint64_t)(_mm256_testz_si256(changed, changed) == 0) << b;
    }
    return rose;
}
#endif

int rb_rclock_join_copy(struct rb_arena *a, struct rb_rclock **c, const struct rb_rclock *seen,
                        uint32_t own_slot, uint64_t version)
{
    struct rb_rclock *old = *c, *mine = rb_arena_alloc(a, rclock_bytes(old->size));
    const uint32_t own_block = own_slot / RB_RCLOCK_BLOCK;
    uint64_t rose;

    if (!mine)
        return -ENOMEM;
    mine->refs = 1;
    mine->size = old->size;
    mine->lines = old->lines;
#if defined(__x86_64__)
    rose = __builtin_cpu_supports("avx2") ? join_into_avx2(mine, old, seen) : join_into(mine, old, seen);
#else
    rose = join_into(mine, old, seen);
#endif
    // A rise of the own entry alone is no change.
    const unsigned others = rb_rclock_rising(old, seen, own_block) & ~(1u << own_slot % RB_RCLOCK_BLOCK);
    rose &= ~((uint64_t)(others == 0) << own_block);
    if (!rose) {
        rb_rclock_free(a, mine);
        return 0;
    }
    const uint64_t *from = rb_rclock_stamps(old);
    uint64_t *to = rb_rclock_stamps(mine);
    for (uint32_t b = 0; b < old->size / RB_RCLOCK_BLOCK; b++, rose >>= 1) {
        const uint64_t mask = 0 - (rose & 1); // all ones or none: no branch to guess
        to[b] = (version & mask) | (from[b] & ~mask);
    }
    rb_rclock_unref(a, old);
    *c = mine;
    return 1;
}
