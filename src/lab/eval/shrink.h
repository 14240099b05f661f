// Makes a trace small while something stays true of it: delta debugging over the events. What stays true is
// the caller's business (for `eval`: the race is still real and the engine still misses it). Tool side.
//
// Events go in units that leave a trace well-formed: a critical section's acquire and release together, a
// function's entry and exit together, everything else alone. Larger pieces are tried first: what orders
// nothing, whole threads with their forks and joins, all events of a lock or object, all accesses to a
// variable, then runs of units, halving.
#ifndef RB_LAB_EVAL_SHRINK_H
#define RB_LAB_EVAL_SHRINK_H

#include "trace/format.h"

// Is it still true of the events with kept[i]? 1, 0, or a negative errno, which ends the search.
typedef int (*rb_holds_fn)(void *context, const bool *kept);

struct rb_shrink {
    const struct rb_event *events; // locks used as they should be; forks and joins name threads
    uint32_t count;
    const uint32_t *pinned; // events that stay, with their units
    uint32_t pinned_count;
    rb_holds_fn holds; // true of the whole
    void *context;
    double seconds; // wall time; what is there then is the answer
};

struct rb_shrink_outcome {
    uint32_t kept;  // events
    uint32_t tests; // calls of holds()
    bool minimal;   // no single unit can go; false: out of time
};

// kept[count] is filled. 0 or a negative errno (of holds, or -ENOMEM): `kept` then still is a set of which it
// holds.
int rb_shrink(const struct rb_shrink *s, bool *kept, struct rb_shrink_outcome *outcome);

#endif
