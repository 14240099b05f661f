// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SU (Efficient Timestamping, algorithm 3): ST's timestamps, and beside each clock C a freshness clock U.
// U_t[t] counts how many entries of C_t have ever changed; U_t[v] is the part of U_v[v] that t knows. A
// sync object with U_s[LR] <= U_t[LR], LR its last releaser, has nothing new for t (proposition 5). A
// release with U_t[t] == U_s[t] would write the values that are there.
//
// The second skip needs C_s <= C_t, which the lock discipline gives (the same thread acquired s just
// before). release_store has no such guarantee and always copies. After a join no single releaser stands
// for s: LR = RB_NO_SLOT, and acquires join in full.
#include <errno.h>

#include "engine/access_history.h"
#include "engine/vector_sync.h"

static int thread_start(struct rb_engine *engine, struct rb_thread *t)
{
    t->fresh = rb_fresh_new(engine->arena, engine->width);
    if (!t->fresh)
        return -ENOMEM;
    return rb_vector_thread_start(engine, t);
}

static void thread_stop(struct rb_engine *engine, struct rb_thread *t)
{
    rb_fresh_free(engine->arena, t->fresh);
    rb_vector_thread_stop(engine, t);
}

static bool acquire_sync(struct rb_engine *engine, struct rb_thread *t, struct rb_sync *s)
{
    if (!s->vector)
        return true;
    if (s->releaser != RB_NO_SLOT &&
        rb_has_heard(rb_fresh_get(t->fresh, s->releaser), rb_fresh_get(s->fresh, s->releaser)))
        return true;
    t->count.entries_traversed += engine->width;
    t->count.entries_total += engine->width;
    if (!rb_fresh_reserve(engine->arena, &t->fresh, s->fresh->size) ||
        !rb_vclock_reserve(engine->arena, &t->vector, s->vector->size))
        return rb_engine_go_blind(engine, t);
    rb_fresh_join(t->fresh, s->fresh);
    t->fresh->changes[t->slot] += rb_vclock_join_count(t->vector, s->vector);
    t->clock = t->vector->time;
    t->clock_size = t->vector->size;
    return false;
}

static void step_epoch(struct rb_thread *t)
{
    if (!t->sampled)
        return;
    rb_epoch_step(t);
    t->vector->time[t->slot] = t->published;
    t->fresh->changes[t->slot]++;
}

// Gives `s` clocks with room for t's. Returns false when memory is out.
static bool room_in_sync(struct rb_engine *engine, struct rb_thread *t, struct rb_sync *s)
{
    if (!s->vector) { // both or none
        struct rb_fresh *fresh = rb_fresh_new(engine->arena, t->fresh->size);
        if (fresh)
            s->vector = rb_vclock_new(engine->arena, t->vector->size);
        if (!s->vector) {
            rb_fresh_free(engine->arena, fresh);
            return false;
        }
        s->fresh = fresh;
    }
    return rb_vclock_reserve(engine->arena, &s->vector, t->vector->size) &&
           rb_fresh_reserve(engine->arena, &s->fresh, t->fresh->size);
}

static bool copy_to_sync(struct rb_engine *engine, struct rb_thread *t, struct rb_sync *s)
{
    if (!room_in_sync(engine, t, s))
        return rb_engine_go_blind(engine, t);
    s->releaser = t->slot;
    rb_vclock_copy(s->vector, t->vector);
    rb_fresh_copy(s->fresh, t->fresh);
    t->count.releases_processed++;
    return false;
}

static bool release_sync(struct rb_engine *engine, struct rb_thread *t, struct rb_sync *s)
{
    step_epoch(t);
    if (s->vector && rb_fresh_get(s->fresh, t->slot) == t->fresh->changes[t->slot]) {
        s->releaser = t->slot;
        return true;
    }
    return copy_to_sync(engine, t, s);
}

static bool release_store(struct rb_engine *engine, struct rb_thread *t, struct rb_sync *s)
{
    step_epoch(t);
    return copy_to_sync(engine, t, s);
}

static bool release_join(struct rb_engine *engine, struct rb_thread *t, struct rb_sync *s)
{
    step_epoch(t);
    if (!s->vector)
        return copy_to_sync(engine, t, s);
    if (!room_in_sync(engine, t, s))
        return rb_engine_go_blind(engine, t);
    rb_vclock_join(s->vector, t->vector);
    rb_fresh_join(s->fresh, t->fresh);
    s->releaser = RB_NO_SLOT;
    t->count.releases_processed++;
    return false;
}

static void sync_clear(struct rb_engine *engine, struct rb_sync *s)
{
    rb_fresh_free(engine->arena, s->fresh);
    s->fresh = NULL;
    rb_vector_sync_clear(engine, s);
}

const struct rb_engine_ops rb_su = {
    .name = "su",
    .help = "sampling timestamps with freshness clocks: needless joins and copies skipped",
    .thread_start = thread_start,
    .thread_stop = thread_stop,
    .acquire = acquire_sync,
    .release = release_sync,
    .release_store = release_store,
    .release_join = release_join,
    .sync_clear = sync_clear,
    .access = rb_history_access,
    .peek = rb_history_peek,
    .cell_clear = rb_history_clear,
};
