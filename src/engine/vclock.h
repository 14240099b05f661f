// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Vector clocks: one local time a thread slot, dense, 64-byte aligned. The freshness clocks U of the
// sampling engines are the same with 64-bit entries.
//
// A clock has room for `size` slots, a multiple of 16 (rb_clock_room); entries above count as 0. Times stay
// below 2^31, so the loops may compare them as signed lanes.
#ifndef RB_ENGINE_VCLOCK_H
#define RB_ENGINE_VCLOCK_H

#include "base/arena.h"
#include "base/types.h"

struct rb_vclock {
    uint32_t size;
    uint32_t pad[15];
    uint32_t time[];
};

struct rb_fresh {
    uint32_t size;
    uint32_t pad[15];
    uint64_t changes[];
};

// Returns the room for so many slots: a multiple of 16, and above 64 one of four sizes between two powers
// of two. Clocks grow with the number of threads. Few sizes let another clock use the blocks that one has
// outgrown.
static inline uint32_t rb_clock_room(uint32_t slots)
{
    const uint32_t step = slots > 64 ? 1u << (29 - __builtin_clz(slots - 1)) : 16;

    return (slots + step - 1) & ~(step - 1);
}

RB_INLINE uint32_t rb_vclock_get(const struct rb_vclock *c, uint32_t slot)
{
    return slot < c->size ? c->time[slot] : 0;
}

RB_INLINE uint64_t rb_fresh_get(const struct rb_fresh *f, uint32_t slot)
{
    return slot < f->size ? f->changes[slot] : 0;
}

// Returns a clock of zeros with room for at least `slots`; NULL when memory is out.
struct rb_vclock *rb_vclock_new(struct rb_arena *a, uint32_t slots);
void rb_vclock_free(struct rb_arena *a, struct rb_vclock *c);
// Makes room; the clock may move. Returns false when memory is out (nothing changed).
bool rb_vclock_reserve(struct rb_arena *a, struct rb_vclock **c, uint32_t slots);
// Sets to = from, and to = max(to, from) entry by entry; `to` has room for from->size.
void rb_vclock_copy(struct rb_vclock *to, const struct rb_vclock *from);
void rb_vclock_join(struct rb_vclock *to, const struct rb_vclock *from);
// Joins, and returns the number of entries that rose.
uint32_t rb_vclock_join_count(struct rb_vclock *to, const struct rb_vclock *from);

struct rb_fresh *rb_fresh_new(struct rb_arena *a, uint32_t slots);
void rb_fresh_free(struct rb_arena *a, struct rb_fresh *f);
bool rb_fresh_reserve(struct rb_arena *a, struct rb_fresh **f, uint32_t slots);
void rb_fresh_copy(struct rb_fresh *to, const struct rb_fresh *from);
void rb_fresh_join(struct rb_fresh *to, const struct rb_fresh *from);

#endif
