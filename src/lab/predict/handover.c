// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lab/predict/handover.h"

#include <string.h>

#define FEW 2u

static size_t clock_bytes(const struct rb_clocks *c)
{
    return (size_t)c->room * sizeof(uint32_t);
}

static size_t snapshot_bytes(const struct rb_clocks *c)
{
    return sizeof(struct rb_snapshot) + clock_bytes(c);
}

uint32_t *rb_clock_new(const struct rb_clocks *c)
{
    return rb_arena_zalloc(c->arena, clock_bytes(c));
}

void rb_clock_zero(const struct rb_clocks *c, uint32_t *clock)
{
    memset(clock, 0, clock_bytes(c));
}

// Times stay below 2^31: signed lanes compare in one instruction.
RB_SIMD static void max_all(int32_t *restrict to, const int32_t *restrict from, uint32_t n)
{
    to = __builtin_assume_aligned(to, 64);
    from = __builtin_assume_aligned(from, 64);
    for (uint32_t i = 0; i < n; i++)
        to[i] = to[i] > from[i] ? to[i] : from[i];
}

RB_SIMD static int32_t max_all_rose(int32_t *restrict to, const int32_t *restrict from, uint32_t n)
{
    int32_t rose = 0;

    to = __builtin_assume_aligned(to, 64);
    from = __builtin_assume_aligned(from, 64);
    for (uint32_t i = 0; i < n; i++) {
        rose |= from[i] > to[i];
        to[i] = to[i] > from[i] ? to[i] : from[i];
    }
    return rose;
}

void rb_clock_max(const struct rb_clocks *c, uint32_t *to, const uint32_t *from)
{
    max_all((int32_t *)to, (const int32_t *)from, c->room);
}

bool rb_clock_max_rose(const struct rb_clocks *c, uint32_t *to, const uint32_t *from)
{
    return max_all_rose((int32_t *)to, (const int32_t *)from, c->room) != 0;
}

struct rb_snapshot *rb_snapshot_take(const struct rb_clocks *c, const uint32_t *clock)
{
    struct rb_snapshot *s = rb_arena_alloc(c->arena, snapshot_bytes(c));

    if (s) {
        s->refs = 1;
        memcpy(s->time, clock, clock_bytes(c));
    }
    return s;
}

void rb_snapshot_free(const struct rb_clocks *c, struct rb_snapshot *s)
{
    rb_arena_free(c->arena, s, snapshot_bytes(c));
}

struct rb_since_entry *rb_since_of(const struct rb_clocks *c, struct rb_since *s, uint32_t thread)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (s->entries[i].from.thread == thread)
            return &s->entries[i];
    if (s->count == s->room) {
        const uint32_t room = s->room ? 2 * s->room : FEW;
        struct rb_since_entry *bigger = rb_arena_alloc(c->arena, room * sizeof(*bigger));
        if (!bigger)
            return NULL;
        if (s->room) {
            memcpy(bigger, s->entries, s->room * sizeof(*bigger));
            rb_arena_free(c->arena, s->entries, s->room * sizeof(*bigger));
        }
        s->entries = bigger;
        s->room = room;
    }
    s->entries[s->count] = (struct rb_since_entry){.from = {.thread = thread}};
    return &s->entries[s->count++];
}

void rb_since_clear(const struct rb_clocks *c, struct rb_since *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        rb_snapshot_drop(c, s->entries[i].from.clock);
        rb_snapshot_drop(c, s->entries[i].second);
        rb_snapshot_drop(c, s->entries[i].third);
    }
    s->count = 0;
}
