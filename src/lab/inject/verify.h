// Is a trace what `railbird inject` says it is? The definition of docs/reordering.md, written down once more,
// without a solver and without anything of the code that makes traces: a mistake there cannot hide here.
// Linear in the traces. Tool side.
//
// INJECTED is right when
//   - it has exactly two accesses to one variable that BASE does not have, of two threads, one a write;
//   - BASE has a point where both threads stand where the pair stands, so that BASE with the pair side by
//     side at that point is an execution: the race is real;
//   - INJECTED is a complete correct reordering (R1 to R5) of BASE with the pair at that point.
// R2 says nothing about the pair itself: that which of the two comes first may change is the race.
#ifndef RB_LAB_INJECT_VERIFY_H
#define RB_LAB_INJECT_VERIFY_H

#include "trace/events.h"

// Two traces in one numbering of threads, locks, variables and the rest, with forks and joins resolved.
// `names` is the trace that the numbers come from (names loaded), for messages; numbers it does not have are
// printed as such.
struct rb_verify_world {
    uint64_t threads, locks, variables; // numbers in either trace are below these
    const struct rb_reader *names;      // may be NULL: numbers then
    const char *base_path, *other_path; // for messages
};

// What was found out about the pair.
struct rb_verify_pair {
    uint64_t at[2];     // numbers of the two events in INJECTED, in its order
    uint32_t thread[2]; // in the numbering of BASE
    enum rb_op op[2];
    uint64_t variable; // in the numbering of INJECTED as given
    uint64_t point;    // before this event of BASE the pair can stand side by side
    uint64_t distance; // events between the two
};

// Are `other`'s events, all of them, a correct reordering of those of `base`? Reads of the variable
// `free_variable` are exempt from R2 (UINT64_MAX: none). 0, or a negative errno and in `e` what is wrong and
// where.
int rb_verify_reordering(const struct rb_verify_world *w, const struct rb_event *base, uint64_t base_count,
                         const struct rb_event *other, uint64_t other_count, uint64_t free_variable,
                         struct rb_error *e);

// The whole check for traces in one numbering, where variables from `fresh_from` on are those BASE does not
// have.
int rb_verify_injected(const struct rb_verify_world *w, const struct rb_event *base, uint64_t base_count,
                       const struct rb_event *injected, uint64_t injected_count, uint64_t fresh_from,
                       struct rb_verify_pair *pair, struct rb_error *e);

// The same for two files: events are matched by the names of their threads, objects and locations.
int rb_verify_files(struct rb_reader *base, struct rb_reader *injected, struct rb_verify_pair *pair,
                    struct rb_error *e);

#endif
