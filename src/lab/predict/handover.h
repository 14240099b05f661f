// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The transport of clocks in the predictive engines. A thread hands its knowledge over (to a lock, an
// object, a variable) as a reference to a snapshot of its clock, together with its own time. Tool side, one
// thread.
//
//   snapshot   an immutable copy of a clock, with a count of references. A thread makes one when it first
//              hands its clock over after a change, so that further hand-overs without news cost a
//              reference each
//   time       the thread's own local time at the hand-over. The snapshot's entry for the thread itself is
//              older or equal and has no meaning
//
// Invariant (I): between two hand-overs of a thread with the same time, its clocks do not change and none
// of its accesses or acquires is recorded. So a thread that knows time n of thread u knows the content of
// every hand-over of u with a time up to n. One comparison of two numbers tells if a hand-over has news
// (rb_handover_known). The engines keep (I) by advancing the local time before such a change, if the time
// has been handed over (rb_own_time_new). A local time at its maximum cannot advance: from then on no
// hand-over counts as known.
#ifndef RB_LAB_PREDICT_HANDOVER_H
#define RB_LAB_PREDICT_HANDOVER_H

#include "engine/engine.h"

struct rb_snapshot {
    uint32_t refs;
    uint32_t pad[15];
    uint32_t time[]; // with room for all threads, as in a clock
};
_Static_assert(sizeof(struct rb_snapshot) == 64, "the entries are aligned like those of a clock");

struct rb_handover {
    struct rb_snapshot *clock; // NULL: none yet
    uint32_t thread, time;
};

// The last hand-over of each thread, none of which comes before another and all of which come before a
// future one: those of read sections, until the next write section.
struct rb_since {
    struct rb_since_entry {
        struct rb_handover from;
        struct rb_snapshot *second, *third; // of other clocks, if the engine has any
    } * entries;
    uint32_t count, room;
};

// The allocator of clocks. All clocks have the same room, a multiple of 16 entries.
struct rb_clocks {
    struct rb_arena *arena;
    uint32_t room;
};

// Returns a clock of zeros, or NULL when memory is out.
uint32_t *rb_clock_new(const struct rb_clocks *);
void rb_clock_zero(const struct rb_clocks *, uint32_t *clock);
// Computes to = max(to, from), entry by entry. Clocks are aligned to cache lines.
void rb_clock_max(const struct rb_clocks *, uint32_t *to, const uint32_t *from);
// Computes the same, and returns true if an entry of `to` rose.
bool rb_clock_max_rose(const struct rb_clocks *, uint32_t *to, const uint32_t *from);

// Returns a snapshot with one reference, or NULL when memory is out.
struct rb_snapshot *rb_snapshot_take(const struct rb_clocks *, const uint32_t *clock);
void rb_snapshot_free(const struct rb_clocks *, struct rb_snapshot *);

RB_INLINE void rb_snapshot_drop(const struct rb_clocks *c, struct rb_snapshot *s)
{
    if (s && --s->refs == 0)
        rb_snapshot_free(c, s);
}

// Makes *to refer to s and drops its former reference.
RB_INLINE void rb_snapshot_set(const struct rb_clocks *c, struct rb_snapshot **to, struct rb_snapshot *s)
{
    if (*to != s) {
        s->refs++;
        rb_snapshot_drop(c, *to);
        *to = s;
    }
}

// Returns the entry of a thread, which begins empty; NULL when memory is out.
struct rb_since_entry *rb_since_of(const struct rb_clocks *, struct rb_since *, uint32_t thread);
void rb_since_clear(const struct rb_clocks *, struct rb_since *);

// Returns true if the hand-over has no news for thread `slot` with this clock.
RB_INLINE bool rb_handover_known(const struct rb_handover *h, const uint32_t *clock, uint32_t slot)
{
    if (!h->clock || h->thread == slot)
        return true;
    return h->time <= clock[h->thread] && h->time < RB_EPOCH_TIME_MAX;
}

RB_INLINE void rb_handover_learn(const struct rb_clocks *c, uint32_t *clock, const struct rb_handover *h)
{
    rb_clock_max(c, clock, h->clock->time);
    if (clock[h->thread] < h->time)
        clock[h->thread] = h->time;
}

// Advances the local time if it has been handed over. Called before the thread's clock changes, and before
// one of its accesses or acquires is recorded.
RB_INLINE void rb_own_time_new(struct rb_thread *t, bool *handed)
{
    t->epoch += *handed && t->epoch < RB_EPOCH_TIME_MAX;
    *handed = false;
}

#endif
