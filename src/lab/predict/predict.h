// The contract of the predictive engines: they read a whole trace, event by event, and say of an access
// whether it races in some other order of the same execution (docs/reordering.md). Unlike the engines of
// engine/, which also live inside running programs, they see all events and not operations on clocks: which
// lock is held around which access is what they reason about. Tool side, one thread.
//
// The order is always built from all events. A sampler decides which accesses are looked at as sides of a
// race: those with `sampled` set are checked against earlier sampled ones, and recorded.
#ifndef RB_LAB_PREDICT_PREDICT_H
#define RB_LAB_PREDICT_PREDICT_H

#include "engine/engine.h"
#include "trace/format.h"

struct rb_predict_world {
    uint32_t threads;
    uint64_t locks, variables, locations, events; // numbers in events are below these
    const uint64_t *events_of;                    // [RB_OPS]: how many of each kind the trace has
    // A bit an object (word l / 64, bit l % 64): it has lock events and others, or its lock events break the
    // lock discipline. All events of such an object keep their order (R5); it has no critical sections. NULL:
    // none is.
    const uint64_t *hard;
    // The number of the last lock event of a thread on a lock, 0 if it has none; asked with `survey`. NULL:
    // not known. What only that thread could still want of the lock can go after it.
    uint64_t (*last_use)(const void *survey, uint64_t lock, uint32_t thread);
    const void *survey;
    struct rb_arena *arena; // bounded; all memory comes from here
};

// Where the state of variable v is kept: `each` bytes at base + v * each.
struct rb_predict_states {
    const char *base;
    size_t each;
};

struct rb_predictor_ops {
    // NULL: memory is out.
    void *(*open)(const struct rb_predict_world *);
    // The next event, checked and well-formed (threads of fork and join resolved); function events and marks
    // may be left out. Lock events of objects that are not `hard` keep the discipline: no thread acquires
    // what another one holds, and each releases what it holds, in the way it holds it. `at` is the event's
    // number in the trace. For an access that is the second side of a race partner->epoch is not 0 and
    // partner->where says which the first is (engine/where.h). 0, or -ENOMEM: nothing more may be fed.
    int (*event)(void *state, const struct rb_event *, uint64_t at, bool sampled,
                 struct rb_partner *);
    void (*counters)(const void *state, struct rb_engine_counters *); // adds to them
    void (*close)(void *state);
    // For the replay to have it in the cache when its event comes. May be NULL.
    struct rb_predict_states (*states)(const void *state);
};

RB_INLINE bool rb_predict_hard(const struct rb_predict_world *w, uint64_t object)
{
    return w->hard && (w->hard[object / 64] >> (object % 64) & 1);
}

extern const struct rb_predictor_ops rb_shb, rb_wcp, rb_syncp;

#endif
