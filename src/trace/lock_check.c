// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Linear probing, at most half full; an entry stays when its lock is free again.
#include "trace/lock_check.h"

#include <stdlib.h>

#include "base/rng.h"

const char *const rb_lock_misuse[] = {
    [RB_LOCK_NOT_HELD] = "releases a lock it does not hold",
    [RB_LOCK_HELD_ELSE] = "releases a lock that another thread holds",
    [RB_LOCK_OVERLAP] = "acquires a lock that another thread holds",
};

static struct rb_lock_slot *slot_of(const struct rb_lock_table *t, uint64_t lock, uint32_t reader)
{
    const uint64_t mask = t->capacity - 1;
    uint64_t i = rb_mix64(rb_mix64(lock) + reader) & mask;

    while (t->slots[i].taken && (t->slots[i].lock != lock || t->slots[i].reader != reader))
        i = (i + 1) & mask;
    return &t->slots[i];
}

static bool grow_locks(struct rb_lock_table *t)
{
    struct rb_lock_table bigger = {.capacity = t->capacity ? t->capacity * 2 : 64, .count = t->count};

    bigger.slots = calloc(bigger.capacity, sizeof(bigger.slots[0]));
    if (!bigger.slots)
        return false;
    for (uint64_t i = 0; i < t->capacity; i++)
        if (t->slots[i].taken)
            *slot_of(&bigger, t->slots[i].lock, t->slots[i].reader) = t->slots[i];
    free(t->slots);
    *t = bigger;
    return true;
}

enum rb_lock_verdict rb_lock_table_apply(struct rb_lock_table *t, enum rb_op op, uint32_t thread,
                                         uint64_t lock)
{
    const bool reading = op == RB_RD_ACQ || op == RB_RD_REL;
    const uint32_t reader = reading ? thread + 1 : 0;

    if (t->out_of_memory)
        return RB_LOCK_INNER;
    if (t->count * 2 >= t->capacity && !grow_locks(t)) {
        t->out_of_memory = true;
        return RB_LOCK_INNER;
    }
    struct rb_lock_slot *s = slot_of(t, lock, reader);
    if (!s->taken) {
        *s = (struct rb_lock_slot){.lock = lock, .reader = reader, .taken = true};
        t->count++;
    }
    if (!reading)
        return rb_lock_apply(&s->state, op, thread);
    if (op == RB_RD_ACQ)
        return s->state.depth++ == 0 ? RB_LOCK_OUTER : RB_LOCK_INNER;
    if (s->state.depth == 0)
        return RB_LOCK_NOT_HELD;
    return --s->state.depth == 0 ? RB_LOCK_OUTER : RB_LOCK_INNER;
}

void rb_lock_table_free(struct rb_lock_table *t)
{
    free(t->slots);
    *t = (struct rb_lock_table){0};
}
