// The part of SO (so.c) that most synchronisation needs and nothing more: inlined by callers that know which
// engine runs. rb_so.acquire and rb_so.release are these and, where they decline, the slow paths.
#ifndef RB_ENGINE_SO_FAST_H
#define RB_ENGINE_SO_FAST_H

#include "engine/engine.h"

// Two comparisons: has this source anything that t does not know?
RB_INLINE bool rb_so_nothing_new(const struct rb_thread *t, const struct rb_source *s)
{
    return s->releaser == t->slot || (s->version <= rb_fresh_get(t->fresh, s->releaser) &&
                                      s->published <= rb_rclock_get(t->recent, s->releaser));
}

bool rb_so_acquire_slow(struct rb_engine *, struct rb_thread *, struct rb_sync *);
bool rb_so_release_slow(struct rb_engine *, struct rb_thread *, struct rb_sync *);

RB_INLINE bool rb_so_acquire(struct rb_engine *engine, struct rb_thread *t, struct rb_sync *s)
{
    if (RB_LIKELY(s->sources <= 1) && (s->sources == 0 || rb_so_nothing_new(t, &s->one)))
        return true;
    return rb_so_acquire_slow(engine, t, s);
}

// The object holds this thread's clock already: no reference moves, and with nothing new to say nothing is
// written.
RB_INLINE bool rb_so_release(struct rb_engine *engine, struct rb_thread *t, struct rb_sync *s)
{
    rb_epoch_step_if_sampled(t);
    if (RB_UNLIKELY(s->sources != 1 || s->one.recent != t->recent))
        return rb_so_release_slow(engine, t, s);
    if (s->one.version == t->version && s->one.published == t->published)
        return true;
    s->one.version = t->version;
    s->one.published = t->published;
    t->count.releases_processed++;
    return false;
}

#endif
