// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whole vector clocks, and the two engines that consist of them and the exact access history: DJIT+ and ST.
// They differ in when the local epoch grows.
#include "engine/vector_sync.h"

#include <errno.h>

#include "engine/access_history.h"

static void update_view(struct rb_thread *t)
{
    t->clock = t->vector->time;
    t->clock_size = t->vector->size;
}

int rb_vector_thread_start(struct rb_engine *engine, struct rb_thread *t)
{
    t->vector = rb_vclock_new(engine->arena, engine->width);
    if (!t->vector)
        return -ENOMEM;
    t->epoch = 1;
    update_view(t);
    return 0;
}

void rb_vector_thread_stop(struct rb_engine *engine, struct rb_thread *t)
{
    rb_vclock_free(engine->arena, t->vector);
    t->vector = NULL;
}

bool rb_vector_acquire(struct rb_engine *engine, struct rb_thread *t, struct rb_sync *s)
{
    if (!s->vector)
        return true;
    t->count.entries_traversed += engine->width;
    t->count.entries_total += engine->width;
    if (!rb_vclock_reserve(engine->arena, &t->vector, s->vector->size))
        return rb_engine_go_blind(engine, t);
    rb_vclock_join(t->vector, s->vector);
    update_view(t);
    return false;
}

// Does the part that both releases share: the epoch step, and a vector in `s` with room for t's. Returns
// false when memory is out.
static bool begin_release(struct rb_engine *engine, struct rb_thread *t, struct rb_sync *s)
{
    if (t->sampled || engine->ops->every_release) {
        rb_epoch_step(t);
        t->vector->time[t->slot] = t->published;
    }
    if (!s->vector)
        s->vector = rb_vclock_new(engine->arena, t->vector->size);
    t->count.releases_processed++;
    return s->vector && rb_vclock_reserve(engine->arena, &s->vector, t->vector->size);
}

bool rb_vector_release(struct rb_engine *engine, struct rb_thread *t, struct rb_sync *s)
{
    if (!begin_release(engine, t, s))
        return rb_engine_go_blind(engine, t);
    rb_vclock_copy(s->vector, t->vector);
    return false;
}

bool rb_vector_release_join(struct rb_engine *engine, struct rb_thread *t, struct rb_sync *s)
{
    if (!begin_release(engine, t, s))
        return rb_engine_go_blind(engine, t);
    rb_vclock_join(s->vector, t->vector);
    return false;
}

void rb_vector_sync_clear(struct rb_engine *engine, struct rb_sync *s)
{
    rb_vclock_free(engine->arena, s->vector);
    s->vector = NULL;
}

// ---- the engines ---------------------------------------------------------------------------------------

// DJIT+ (Pozniansky and Schuster): vector clocks everywhere, and a new local epoch at every release. Its
// access history is the exact one: DJIT+'s read and write vectors of each variable amount to that.
const struct rb_engine_ops rb_djit = {
    .name = "djit",
    .help = "DJIT+: whole vector clocks, every access exact",
    .every_release = true,
    .thread_start = rb_vector_thread_start,
    .thread_stop = rb_vector_thread_stop,
    .acquire = rb_vector_acquire,
    .release = rb_vector_release,
    .release_store = rb_vector_release,
    .release_join = rb_vector_release_join,
    .sync_clear = rb_vector_sync_clear,
    .access = rb_history_access,
    .peek = rb_history_peek,
    .cell_clear = rb_history_clear,
};

// ST (Efficient Timestamping, algorithm 2): vector clocks, but the local epoch grows only at the first
// release after a sampled access. Finds the same races as SU and SO; pays T entries at every
// synchronisation.
const struct rb_engine_ops rb_st = {
    .name = "st",
    .help = "sampling timestamps on whole vector clocks",
    .thread_start = rb_vector_thread_start,
    .thread_stop = rb_vector_thread_stop,
    .acquire = rb_vector_acquire,
    .release = rb_vector_release,
    .release_store = rb_vector_release,
    .release_join = rb_vector_release_join,
    .sync_clear = rb_vector_sync_clear,
    .access = rb_history_access,
    .peek = rb_history_peek,
    .cell_clear = rb_history_clear,
};
