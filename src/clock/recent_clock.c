// Built with -fno-tree-loop-distribute-patterns, see vclock.c.
#include "clock/recent_clock.h"

static size_t rclock_bytes(uint32_t size)
{
    return sizeof(struct rb_rclock) + (size_t)size * sizeof(uint32_t) +
           (size_t)size / RB_RCLOCK_BLOCK * sizeof(uint64_t);
}

struct rb_rclock *rb_rclock_new(struct rb_arena *a, uint32_t slots)
{
    const uint32_t size = (slots + RB_RCLOCK_BLOCK - 1) / RB_RCLOCK_BLOCK * RB_RCLOCK_BLOCK;
    struct rb_rclock *c = rb_arena_zalloc(a, rclock_bytes(size));

    if (c) {
        c->refs = 1;
        c->size = size;
    }
    return c;
}

void rb_rclock_free(struct rb_arena *a, struct rb_rclock *c)
{
    rb_arena_free(a, c, rclock_bytes(c->size));
}

// Whole 64-byte lines: blocks of the arena are rounded up to them.
RB_SIMD static void copy_lines(void *restrict to, const void *restrict from, size_t bytes)
{
    uint64_t *t = __builtin_assume_aligned(to, 64);
    const uint64_t *f = __builtin_assume_aligned(from, 64);
    const size_t words = (bytes + 63) / 64 * 8;

    for (size_t i = 0; i < words; i++)
        t[i] = f[i];
}

// Times and stamps into a clock with more room; its further entries are zero.
static void widen(struct rb_rclock *to, const struct rb_rclock *from)
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
        if (old->refs == 1)
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
        widen(mine, old);
    }
    *copied = true;
    rb_rclock_unref(a, old);
    *c = mine;
    return true;
}

// Eight lanes; the compiler makes of them what the processor has.
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

// Entries of blocks that did not rise are joined too, which leaves them as they are.
RB_SIMD static void max_into(struct rb_rclock *restrict to, const struct rb_rclock *restrict mine,
                             const struct rb_rclock *restrict seen)
{
    lanes *t = (lanes *)(void *)to->time;
    const lanes *m = (const lanes *)(const void *)mine->time, *s = (const lanes *)(const void *)seen->time;

    for (uint32_t i = 0; i < mine->size / 8; i++) {
        const lanes more = s[i] > m[i];
        t[i] = (s[i] & more) | (m[i] & ~more);
    }
}

bool rb_rclock_join_copy(struct rb_arena *a, struct rb_rclock **c, const struct rb_rclock *seen,
                         uint64_t blocks, uint64_t version)
{
    struct rb_rclock *old = *c, *mine = rb_arena_alloc(a, rclock_bytes(old->size));

    if (!mine)
        return false;
    mine->refs = 1;
    mine->size = old->size;
    max_into(mine, old, seen);
    const uint64_t *from = rb_rclock_stamps(old);
    uint64_t *to = rb_rclock_stamps(mine);
    for (uint32_t b = 0; b < old->size / RB_RCLOCK_BLOCK; b++) {
        const uint64_t rose = 0 - (blocks >> b & 1); // all ones or none: no branch to guess
        to[b] = (version & rose) | (from[b] & ~rose);
    }
    rb_rclock_unref(a, old);
    *c = mine;
    return true;
}
