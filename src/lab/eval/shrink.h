// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes a trace small while a property stays true of it: delta debugging over the events. The caller
// defines the property (for `eval`: the race is still real and the engine still misses it). Tool side.
//
// Events form units that leave a trace well-formed: a critical section's acquire and release together, a
// function's entry and exit together, every other event alone. Larger pieces are tried first: events
// without ordering, whole threads with their forks and joins, all events of a lock or object, all accesses
// to a variable. Then follow runs of units, of halving length.
#ifndef RB_LAB_EVAL_SHRINK_H
#define RB_LAB_EVAL_SHRINK_H

#include "trace/format.h"

// Returns 1 if the property holds for the events with kept[i], 0 if not, or a negative errno, which ends
// the search.
typedef int (*rb_holds_fn)(void *context, const bool *kept);

struct rb_shrink {
    const struct rb_event *events; // locks used with discipline; forks and joins name threads
    uint32_t count;
    const uint32_t *pinned; // events to keep, with their units
    uint32_t pinned_count;
    rb_holds_fn holds; // holds for the whole trace
    void *context;
    double seconds; // limit on wall time; the result is the state at that moment
};

struct rb_shrink_outcome {
    uint32_t kept;  // number of events
    uint32_t tests; // number of calls of holds()
    bool minimal;   // no single unit can be removed; false: out of time
};

// Fills kept[count]. Returns 0, or a negative errno (of holds, or -ENOMEM). `kept` satisfies the property
// in either case.
int rb_shrink(const struct rb_shrink *s, bool *kept, struct rb_shrink_outcome *outcome);

#endif
