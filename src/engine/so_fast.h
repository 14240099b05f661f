// The part of SO (so.c) that most synchronisation needs and nothing more: inlined by callers that know which
// engine runs. rb_so.acquire and rb_so.release are these and, where they decline, the slow paths.
#ifndef RB_ENGINE_SO_FAST_H
#define RB_ENGINE_SO_FAST_H

#include "engine/engine.h"

// Two comparisons: has this source anything that t does not know? One of its own has not, if it is not of an
// earlier user of the slot.
RB_INLINE bool rb_so_nothing_new(const struct rb_thread *t, const struct rb_source *s)
{
    if (s->releaser == t->slot && rb_has_heard(t->version, s->version))
        return true;
    return rb_has_heard(rb_fresh_get(t->fresh, s->releaser), s->version) &&
           s->published <= rb_rclock_get(t->recent, s->releaser);
}

// Learns what a source has to tell; always false.
bool rb_so_learn(struct rb_engine *, struct rb_thread *, const struct rb_source *);
bool rb_so_acquire_several(struct rb_engine *, struct rb_thread *, struct rb_sync *);
bool rb_so_replace(struct rb_engine *, struct rb_thread *, struct rb_sync *);

RB_INLINE bool rb_so_acquire(struct rb_engine *engine, struct rb_thread *t, struct rb_sync *s)
{
    if (RB_UNLIKELY(s->sources > 1))
        return rb_so_acquire_several(engine, t, s);
    if (s->sources == 0 || rb_so_nothing_new(t, &s->one))
        return true;
    return rb_so_learn(engine, t, &s->one);
}

RB_INLINE struct rb_source rb_so_source(const struct rb_thread *t)
{
    return (struct rb_source){t->recent, t->version, t->slot, t->published};
}

RB_INLINE bool rb_so_release(struct rb_engine *engine, struct rb_thread *t, struct rb_sync *s)
{
    rb_epoch_step_if_sampled(t);
    if (RB_UNLIKELY(s->sources != 1))
        return rb_so_replace(engine, t, s);
    if (RB_LIKELY(s->one.recent == t->recent)) { // so the same thread: no reference moves
        if (s->one.version == t->version && s->one.published == t->published)
            return true; // and nothing is written
    } else {
        rb_rclock_ref(t->recent);
        rb_rclock_unref(engine->arena, s->one.recent);
    }
    s->one = rb_so_source(t);
    t->count.releases_processed++;
    return false;
}

#endif
