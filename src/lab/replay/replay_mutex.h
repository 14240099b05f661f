// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Events of mutexes, the most frequent ones after accesses: inlined into the replay's loop.
#ifndef RB_LAB_REPLAY_REPLAY_MUTEX_H
#define RB_LAB_REPLAY_REPLAY_MUTEX_H

#include "engine/so_fast.h"
#include "lab/replay/replay_state.h"

// `so`: the engine is SO, and its fast paths are inlined. A compile-time constant.
RB_INLINE bool rb_mutex_acquire_main(struct rb_state *s, struct rb_thread *t, struct rb_replay_object *o,
                                     bool so)
{
    return so ? rb_so_acquire(&s->engine, t, &o->main) : s->engine.ops->acquire(&s->engine, t, &o->main);
}

RB_INLINE void rb_mutex_release_main(struct rb_state *s, struct rb_thread *t, struct rb_replay_object *o,
                                     bool so)
{
    if (so)
        rb_so_release(&s->engine, t, &o->main);
    else
        s->engine.ops->release(&s->engine, t, &o->main);
}

// Applies an acquire. A write-lock is ordered after read-unlocks as well; a read-lock is not.
RB_INLINE int rb_mutex_acquire(struct rb_state *s, struct rb_thread *t, struct rb_replay_object *o,
                               uint64_t index, bool so)
{
    const enum rb_lock_verdict v = rb_lock_apply(&o->held, RB_ACQUIRE, t->slot);
    bool skipped;

    if (RB_UNLIKELY(v == RB_LOCK_OVERLAP) && !s->windowed) {
        o->loose = true;
        if (rb_state_misuse(s, index, v) < 0)
            return -1;
    }
    skipped = rb_mutex_acquire_main(s, t, o, so);
    if (RB_UNLIKELY(o->readers)) {
        skipped &= s->engine.ops->acquire(&s->engine, t, o->readers);
        o->unread = false;
    }
    s->acquires++;
    s->acquires_skipped += skipped;
    return 0;
}

RB_INLINE int rb_mutex_release(struct rb_state *s, struct rb_thread *t, struct rb_replay_object *o,
                               uint64_t index, bool so)
{
    const enum rb_lock_verdict v = rb_lock_apply(&o->held, RB_RELEASE, t->slot);

    if (RB_UNLIKELY(v == RB_LOCK_NOT_HELD || v == RB_LOCK_HELD_ELSE)) {
        o->loose = true; // in a window: the acquire lies before it
        if (!s->windowed && rb_state_misuse(s, index, v) < 0)
            return -1;
    }
    if (RB_UNLIKELY(o->loose))
        s->engine.ops->release_join(&s->engine, t,
                                    &o->main); // every earlier release still orders later acquires
    else
        rb_mutex_release_main(s, t, o, so);
    if (RB_UNLIKELY(o->readers && !o->unread && v == RB_LOCK_OUTER))
        s->engine.ops->sync_clear(&s->engine, o->readers); // this release is ordered after all of them
    s->releases++;
    return 0;
}

#endif
