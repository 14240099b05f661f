// How clocks travel in the predictive engines: a thread hands over what it knows (to a lock, an object, a
// variable) as a reference to a snapshot of its clock and, beside it, its own time. Tool side, one thread.
//
//   snapshot   a copy of a clock that never changes, counted by who refers to it. A thread makes one when
//              it first hands its clock over after a change, so that a run of hand-overs without news
//              costs a reference each
//   time       the thread's own local time at the hand-over. The snapshot's entry for the thread itself
//              is older or equal and means nothing
//
// Invariant (I): between two hand-overs of a thread with the same time, neither its clocks change nor is an
// access or an acquire of it recorded. So whoever has heard of time n of thread u knows all that any
// hand-over of u with a time up to n had to say, and one comparison of two numbers tells whether there is
// anything to learn (rb_handover_known). The engines keep (I) by a step of the local time before such a
// change, if the time has been handed over (rb_own_time_new). A local time that has reached its maximum can
// keep nothing: from then on nothing counts as known.
#ifndef RB_LAB_PREDICT_HANDOVER_H
#define RB_LAB_PREDICT_HANDOVER_H

#include "engine/engine.h"

struct rb_snapshot {
    uint32_t refs;
    uint32_t pad[15];
    uint32_t time[]; // as many as a clock has room for
};
_Static_assert(sizeof(struct rb_snapshot) == 64, "the entries are aligned like those of a clock");

struct rb_handover {
    struct rb_snapshot *clock; // NULL: nothing was handed over yet
    uint32_t thread, time;
};

// Hand-overs that come before one to come, and not before each other: the last of each thread. Those of read
// sections, until the next write section.
struct rb_since {
    struct rb_since_entry {
        struct rb_handover from;
        struct rb_snapshot *second, *third; // of other clocks, for engines that have more than one
    } * entries;
    uint32_t count, room;
};

// Where clocks come from; all have the same room, a multiple of 16 entries.
struct rb_clocks {
    struct rb_arena *arena;
    uint32_t room;
};

// A clock of zeros. NULL when memory is out.
uint32_t *rb_clock_new(const struct rb_clocks *);
void rb_clock_zero(const struct rb_clocks *, uint32_t *clock);
// to = max(to, from), entry by entry. Clocks are aligned to cache lines.
void rb_clock_max(const struct rb_clocks *, uint32_t *to, const uint32_t *from);
// The same, and whether an entry of `to` rose.
bool rb_clock_max_rose(const struct rb_clocks *, uint32_t *to, const uint32_t *from);

// A snapshot with one reference. NULL when memory is out.
struct rb_snapshot *rb_snapshot_take(const struct rb_clocks *, const uint32_t *clock);
void rb_snapshot_free(const struct rb_clocks *, struct rb_snapshot *);

RB_INLINE void rb_snapshot_drop(const struct rb_clocks *c, struct rb_snapshot *s)
{
    if (s && --s->refs == 0)
        rb_snapshot_free(c, s);
}

// *to refers to s from now on, and no longer to what it did.
RB_INLINE void rb_snapshot_set(const struct rb_clocks *c, struct rb_snapshot **to, struct rb_snapshot *s)
{
    if (*to != s) {
        s->refs++;
        rb_snapshot_drop(c, *to);
        *to = s;
    }
}

// The entry of a thread, empty at first. NULL when memory is out.
struct rb_since_entry *rb_since_of(const struct rb_clocks *, struct rb_since *, uint32_t thread);
void rb_since_clear(const struct rb_clocks *, struct rb_since *);

// Is there nothing to learn from it for thread `slot` with this clock?
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

// Before a change of the thread's clock, and before one of its accesses or acquires is recorded.
RB_INLINE void rb_own_time_new(struct rb_thread *t, bool *handed)
{
    t->epoch += *handed && t->epoch < RB_EPOCH_TIME_MAX;
    *handed = false;
}

#endif
