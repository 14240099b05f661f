#include "engine/vector_sync.h"

#include <errno.h>

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

// The part that both releases share: the epoch step, and a vector in `s` with room for t's. False when memory
// is out.
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
