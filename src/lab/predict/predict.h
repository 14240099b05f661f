// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The contract of the predictive engines. They read a whole trace, event by event, and report an access if
// it races in some other order of the same execution (docs/explanation/reordering.md). The engines of engine/ also live
// inside running programs and see operations on clocks. These engines see all events, because they reason
// about the locks held around each access. Tool side, one thread.
//
// The order is always built from all events. A sampler selects the accesses that are sides of a race: those
// with `sampled` set are checked against earlier sampled ones, and recorded.
#ifndef RB_LAB_PREDICT_PREDICT_H
#define RB_LAB_PREDICT_PREDICT_H

#include "engine/engine.h"
#include "trace/format.h"

struct rb_predict_world {
    uint32_t threads;
    uint64_t locks, variables, locations, events; // numbers in events are below these
    const uint64_t *events_of;                    // [RB_OPS]: number of events of each kind
    // A bit an object (word l / 64, bit l % 64): the object is hard, because it has lock events and others,
    // or its lock events break the lock discipline. All events of a hard object keep their order (R5), and
    // it has no critical sections. NULL: no object is hard.
    const uint64_t *hard;
    // Returns the number of the last lock event of a thread on a lock, 0 if it has none. Called with
    // `survey`. NULL: unknown. State of the lock that only that thread could still use can be freed after
    // that event.
    uint64_t (*last_use)(const void *survey, uint64_t lock, uint32_t thread);
    const void *survey;
    struct rb_arena *arena; // bounded; all memory comes from here
};

// The location of the state of variable v: `each` bytes at base + v * each.
struct rb_predict_states {
    const char *base;
    size_t each;
};

// Each engine defines its own state, which the caller keeps as a pointer from `open` to `close`.
struct rb_predictor_ops {
    // Returns the state, or NULL when memory is out.
    void *(*open)(const struct rb_predict_world *);
    // Feeds the next event, checked and well-formed (threads of fork and join resolved). Function events
    // and marks may be left out. Lock events of objects that are not `hard` keep the discipline: no thread
    // acquires a lock that another one holds, and each releases the locks it holds, in the mode it holds
    // them. `at` is the event's number in the trace. For an access that is the second side of a race,
    // partner->epoch is not 0 and partner->where identifies the first (trace/format.h). Returns 0, or
    // -ENOMEM, after which no more events may be fed.
    int (*event)(void *state, const struct rb_event *, uint64_t at, bool sampled, struct rb_partner *);
    void (*counters)(const void *state, struct rb_engine_counters *); // adds to the counters
    void (*close)(void *state);
    // Returns the location of the variables' states, so that the replay can prefetch them. May be NULL.
    struct rb_predict_states (*states)(const void *state);
};

RB_INLINE bool rb_predict_hard(const struct rb_predict_world *w, uint64_t object)
{
    return w->hard && (w->hard[object / 64] >> (object % 64) & 1);
}

extern const struct rb_predictor_ops rb_shb, rb_wcp, rb_syncp;

#endif
