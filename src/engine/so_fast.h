// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The part of SO (so.c) that most synchronisation needs: inlined by callers that know which engine runs.
// rb_so.acquire and rb_so.release are these functions and, where they decline, the slow paths.
#ifndef RB_ENGINE_SO_FAST_H
#define RB_ENGINE_SO_FAST_H

#include "engine/engine.h"

// Returns true if this source has nothing that t does not know, by two comparisons. A source of t itself
// has nothing new, unless an earlier user of the slot made it.
RB_INLINE bool rb_so_nothing_new(const struct rb_thread *t, const struct rb_source *s)
{
    if (s->releaser == t->slot && rb_has_heard(t->version, s->version))
        return true;
    return rb_has_heard(rb_fresh_get(t->fresh, s->releaser), s->version) &&
           s->published <= rb_rclock_get(t->recent, s->releaser);
}

// Joins a source into t's clock; always returns false.
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
