// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Built with -fno-tree-loop-distribute-patterns: the loops below must not become calls of memcpy or memset.
// Inside a host program these would be the intercepted functions.
#include "engine/vclock.h"

RB_SIMD static void zero_words(uint32_t *to, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        to[i] = 0;
}

RB_SIMD static void copy_words(uint32_t *restrict to, const uint32_t *restrict from, uint32_t n)
{
    to = __builtin_assume_aligned(to, 64);
    from = __builtin_assume_aligned(from, 64);
    for (uint32_t i = 0; i < n; i++)
        to[i] = from[i];
}

RB_SIMD static void join_words(int32_t *restrict to, const int32_t *restrict from, uint32_t n)
{
    to = __builtin_assume_aligned(to, 64);
    from = __builtin_assume_aligned(from, 64);
    for (uint32_t i = 0; i < n; i++)
        to[i] = to[i] > from[i] ? to[i] : from[i];
}

RB_SIMD static uint32_t join_words_count(int32_t *restrict to, const int32_t *restrict from, uint32_t n)
{
    int32_t rose = 0;

    to = __builtin_assume_aligned(to, 64);
    from = __builtin_assume_aligned(from, 64);
    for (uint32_t i = 0; i < n; i++) {
        rose += from[i] > to[i];
        to[i] = to[i] > from[i] ? to[i] : from[i];
    }
    return (uint32_t)rose;
}

RB_SIMD static void join_words64(int64_t *restrict to, const int64_t *restrict from, uint32_t n)
{
    to = __builtin_assume_aligned(to, 64);
    from = __builtin_assume_aligned(from, 64);
    for (uint32_t i = 0; i < n; i++)
        to[i] = to[i] > from[i] ? to[i] : from[i];
}

static size_t vclock_bytes(uint32_t size)
{
    return sizeof(struct rb_vclock) + (size_t)size * sizeof(uint32_t);
}

static size_t fresh_bytes(uint32_t size)
{
    return sizeof(struct rb_fresh) + (size_t)size * sizeof(uint64_t);
}

struct rb_vclock *rb_vclock_new(struct rb_arena *a, uint32_t slots)
{
    const uint32_t size = rb_clock_room(slots);
    struct rb_vclock *c = rb_arena_alloc(a, vclock_bytes(size));

    if (c) {
        c->size = size;
        zero_words(c->time, size);
    }
    return c;
}

void rb_vclock_free(struct rb_arena *a, struct rb_vclock *c)
{
    if (c)
        rb_arena_free(a, c, vclock_bytes(c->size));
}

bool rb_vclock_reserve(struct rb_arena *a, struct rb_vclock **c, uint32_t slots)
{
    struct rb_vclock *bigger;

    if (RB_LIKELY(slots <= (*c)->size))
        return true;
    bigger = rb_vclock_new(a, slots);
    if (!bigger)
        return false;
    copy_words(bigger->time, (*c)->time, (*c)->size);
    rb_vclock_free(a, *c);
    *c = bigger;
    return true;
}

void rb_vclock_copy(struct rb_vclock *to, const struct rb_vclock *from)
{
    copy_words(to->time, from->time, from->size);
    if (RB_UNLIKELY(to->size > from->size))
        zero_words(to->time + from->size, to->size - from->size);
}

void rb_vclock_join(struct rb_vclock *to, const struct rb_vclock *from)
{
    join_words((int32_t *)to->time, (const int32_t *)from->time, from->size);
}

uint32_t rb_vclock_join_count(struct rb_vclock *to, const struct rb_vclock *from)
{
    return join_words_count((int32_t *)to->time, (const int32_t *)from->time, from->size);
}

struct rb_fresh *rb_fresh_new(struct rb_arena *a, uint32_t slots)
{
    const uint32_t size = rb_clock_room(slots);
    struct rb_fresh *f = rb_arena_alloc(a, fresh_bytes(size));

    if (f) {
        f->size = size;
        zero_words((uint32_t *)f->changes, 2 * size);
    }
    return f;
}

void rb_fresh_free(struct rb_arena *a, struct rb_fresh *f)
{
    if (f)
        rb_arena_free(a, f, fresh_bytes(f->size));
}

bool rb_fresh_reserve(struct rb_arena *a, struct rb_fresh **f, uint32_t slots)
{
    struct rb_fresh *bigger;

    if (RB_LIKELY(slots <= (*f)->size))
        return true;
    bigger = rb_fresh_new(a, slots);
    if (!bigger)
        return false;
    rb_fresh_copy(bigger, *f);
    rb_fresh_free(a, *f);
    *f = bigger;
    return true;
}

void rb_fresh_copy(struct rb_fresh *to, const struct rb_fresh *from)
{
    copy_words((uint32_t *)to->changes, (const uint32_t *)from->changes, 2 * from->size);
    if (RB_UNLIKELY(to->size > from->size))
        zero_words((uint32_t *)(to->changes + from->size), 2 * (to->size - from->size));
}

void rb_fresh_join(struct rb_fresh *to, const struct rb_fresh *from)
{
    join_words64((int64_t *)to->changes, (const int64_t *)from->changes, from->size);
}
