#include "engine/vector_sync.h"

#include <errno.h>

static void view(struct rb_thread *t)
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
    view(t);
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
    t->count.entries_traversed += s->vector->size;
    t->count.entries_total += s->vector->size;
    if (!rb_vclock_reserve(engine->arena, &t->vector, s->vector->size))
        return rb_engine_go_blind(engine, t);
    rb_vclock_join(t->vector, s->vector);
    view(t);
    return false;
}

// Gives `s` a vector with room for t's; false when memory is out.
static bool room_in_sync(struct rb_engine *engine, struct rb_thread *t, struct rb_sync *s)
{
    if (!s->vector)
        s->vector = rb_vclock_new(engine->arena, t->vector->size);
    return s->vector && rb_vclock_reserve(engine->arena, &s->vector, t->vector->size);
}

bool rb_vector_release(struct rb_engine *engine, struct rb_thread *t, struct rb_sync *s, bool step)
{
    if (step) {
        rb_epoch_step(t);
        t->vector->time[t->slot] = t->published;
    }
    if (!room_in_sync(engine, t, s))
        return rb_engine_go_blind(engine, t);
    rb_vclock_copy(s->vector, t->vector);
    t->count.releases_processed++;
    return false;
}

bool rb_vector_release_join(struct rb_engine *engine, struct rb_thread *t, struct rb_sync *s, bool step)
{
    if (step) {
        rb_epoch_step(t);
        t->vector->time[t->slot] = t->published;
    }
    if (!room_in_sync(engine, t, s))
        return rb_engine_go_blind(engine, t);
    rb_vclock_join(s->vector, t->vector);
    t->count.releases_processed++;
    return false;
}

void rb_vector_sync_clear(struct rb_engine *engine, struct rb_sync *s)
{
    rb_vclock_free(engine->arena, s->vector);
    s->vector = NULL;
}
