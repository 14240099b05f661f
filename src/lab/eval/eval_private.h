// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parts of `eval` that its files share: labelled traces in memory, rules, plots. Private to lab/ and its
// tests.
#ifndef RB_LAB_EVAL_EVAL_PRIVATE_H
#define RB_LAB_EVAL_EVAL_PRIVATE_H

#include "lab/eval/eval.h"
#include "trace/reader.h"

// ---- traces --------------------------------------------------------------------------------------------

// A labelled trace in memory: the check against its label, and smaller traces made of some of its events.

// Checks that the trace is the one that was labelled. An error names the difference. Loads the reader's
// names.
int rb_eval_trace_check(const struct rb_events *t, struct rb_reader *r, const struct rb_eval_label *l,
                        struct rb_error *e);

// The numbers that a smaller trace gives to the entries it still uses, from 0 in the order of the larger
// one. They are the same for every order of the same events.
struct rb_eval_numbers {
    uint32_t *map[RBT_TABLES]; // number in the larger trace -> number + 1; 0: unused
    uint64_t count[RBT_TABLES];
    uint64_t limit[RBT_TABLES]; // of the larger trace
};

// Makes the numbers for the events with kept[i]. `last` is the variable that gets the highest number.
// Returns 0 or -ENOMEM; `n` must be freed in either case.
int rb_eval_numbers_make(struct rb_eval_numbers *n, const struct rb_events *t, const bool *kept,
                         uint64_t last);
void rb_eval_numbers_free(struct rb_eval_numbers *n);

static inline struct rb_event rb_eval_renumber(const struct rb_eval_numbers *n, struct rb_event e)
{
    e.target = n->map[rb_table_of_space[rb_op_info[e.op].space]][e.target] - 1;
    e.thread = n->map[RBT_THREADS][e.thread] - 1;
    e.location = n->map[RBT_LOCATIONS][e.location] - 1;
    return e;
}

// Writes events, numbered by `n`, to `fd`, a memfd or regular file, which stays open, or is closed on
// failure. With `names` the tables get the names of that reader, else numbers only. Returns 0, or a
// negative errno with `e`.
int rb_eval_trace_write(const struct rb_event *events, uint64_t count, const struct rb_eval_numbers *n,
                        const struct rb_reader *names, const char *path, int fd, struct rb_error *e);

// ---- rules ---------------------------------------------------------------------------------------------

// Invariants between the engines' answers on one trace; docs/reference/lab.md has the proofs.

// The events at which an engine warned, in the order of the trace.
struct rb_eval_warned {
    uint64_t *at;
    size_t count, room;
    bool out_of_memory;
};
void rb_eval_warned_add(struct rb_eval_warned *w, uint64_t event);

// Sets *yes if happens-before is all the order that R5 (docs/explanation/reordering.md) requires: no object other than
// a plain lock is used by two threads. Returns 0 or -ENOMEM.
int rb_eval_locks_only(const struct rb_events *t, bool *yes);

// Marks the rules that can be checked with the detectors of this evaluation.
void rb_eval_rules_start(struct rb_eval *v);
// Checks the rules on one trace. `warned` has an entry for each detector, empty for samplers. Called by one
// thread at a time.
void rb_eval_rules_check(struct rb_eval *v, size_t trace, const struct rb_eval_warned *warned,
                         bool locks_only);

// ---- plots ---------------------------------------------------------------------------------------------

// The plots of the evaluation's page, each a <figure>.

// Plots recall over the distance of the pair, a line a detector: the engines, or the samplers.
void rb_eval_plot_distance(FILE *out, const struct rb_eval *v, bool engines);
// Plots recall over the effective sampling rate, a mark a detector.
void rb_eval_plot_rate(FILE *out, const struct rb_eval *v);

#endif
