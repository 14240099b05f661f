// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The independent verifier of `railbird inject`: the definition of docs/explanation/reordering.md, implemented a second
// time. It uses no solver and no code of the generator of traces, so that a mistake there cannot hide here.
// Linear in the traces. Tool side.
//
// INJECTED is correct if
//   - it has exactly two accesses to one variable that BASE does not have, of two threads, one a write;
//   - BASE has a point at which both threads are where the pair is, so that BASE with the pair side by
//     side at that point is an execution: the race is real;
//   - INJECTED is a complete correct reordering (R1 to R5) of BASE with the pair at that point.
// R2 does not apply to the pair itself: the order of the two may change, because they race.
#ifndef RB_LAB_INJECT_VERIFY_H
#define RB_LAB_INJECT_VERIFY_H

#include "trace/reader.h"

// Two traces in one numbering of threads, locks, variables and the rest, with forks and joins resolved.
// `names` is the trace that the numbers come from (names loaded), for messages. Numbers that it lacks are
// printed as such.
struct rb_verify_world {
    uint64_t threads, locks, variables; // numbers in either trace are below these
    const struct rb_reader *names;      // may be NULL: numbers only
    const char *base_path, *other_path; // for messages
};

// The findings about the pair.
struct rb_verify_pair {
    uint64_t at[2];     // numbers of the two events in INJECTED, in its order
    uint32_t thread[2]; // in the numbering of BASE
    enum rb_op op[2];
    uint64_t variable; // in the numbering of INJECTED as given
    uint64_t point;    // the pair can stand side by side before this event of BASE
    uint64_t distance; // number of events between the two
};

// Checks that the events of `other` are a correct reordering of all events of `base`. Reads of the variable
// `free_variable` are exempt from R2 (UINT64_MAX: none). Returns 0, or a negative errno with the fault and
// its place in `e`.
int rb_verify_reordering(const struct rb_verify_world *w, const struct rb_event *base, uint64_t base_count,
                         const struct rb_event *other, uint64_t other_count, uint64_t free_variable,
                         struct rb_error *e);

// Runs the whole check on traces in one numbering. Variables from `fresh_from` on are those that BASE
// lacks.
int rb_verify_injected(const struct rb_verify_world *w, const struct rb_event *base, uint64_t base_count,
                       const struct rb_event *injected, uint64_t injected_count, uint64_t fresh_from,
                       struct rb_verify_pair *pair, struct rb_error *e);

// Runs the same check on two files. Events are matched by the names of their threads, objects and
// locations.
int rb_verify_files(struct rb_reader *base, struct rb_reader *injected, struct rb_verify_pair *pair,
                    struct rb_error *e);

#endif
