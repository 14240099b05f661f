// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Counterexamples: the traces that an engine misses. Each is made as small as possible while the race stays
// real and the engine still misses it. Tool side.
//
// A race is real because the base of the trace, with the pair side by side, is another order of the same
// execution. So two orders shrink at once, by the same events: the labelled trace and its base. After every
// step an independent verifier checks that the one still is a correct reordering of the other.
#ifndef RB_LAB_EVAL_EVAL_COUNTER_H
#define RB_LAB_EVAL_EVAL_COUNTER_H

#include "lab/eval/eval.h"
#include "lab/eval/shrink.h"
#include "trace/reader.h"

// Checks that `injected` without the pair is a correct reordering of `base`, and that the pair is a race.
// Both traces use one numbering; the variables that base->table lacks are those of the pair. Returns 0, or
// a negative errno. A failed check is an input fault in `e`.
typedef int (*rb_eval_verify_fn)(const struct rb_events *base, const struct rb_events *injected,
                                 struct rb_error *e);

struct rb_eval_counter_plan {
    const char *dir; // created if it does not exist
    double seconds;  // time limit for each trace
    uint32_t limit;  // largest number of traces for each engine, the shortest distance first; 0: no limit
    uint32_t jobs;
    int (*open)(const char *path, struct rb_reader *r, struct rb_error *e);
    rb_eval_verify_fn verify;
    rb_progress_fn progress;
    void *progress_context;
};

// One trace that one engine misses.
struct rb_eval_counter {
    size_t detector, trace;
    uint64_t events[2];     // the pair in the small trace
    uint64_t before, after; // number of events
    uint32_t tests;
    bool minimal;
    bool unproven; // the verifier rejects the original trace: no file was written
    double seconds;
    char threads[2][256];
    enum rb_op op[2];
};

struct rb_eval_counters {
    struct rb_eval_counter *list; // sorted by detector, then by trace
    size_t count;
};

// Writes DIR/ENGINE/NAME.rbt, NAME.std, NAME.base.rbt, labels.json, and DIR/index.json. Returns 0, or a
// negative errno with `e`. `c` must be released in either case.
int rb_eval_counterexamples(struct rb_eval_counters *c, const struct rb_eval *v,
                            const struct rb_eval_counter_plan *plan, struct rb_error *e);
void rb_eval_counters_free(struct rb_eval_counters *c);
void rb_eval_counters_text(FILE *out, const struct rb_eval *v, const struct rb_eval_counters *c);
json_t *rb_eval_counters_json(const struct rb_eval *v, const struct rb_eval_counters *c);

// ---- private to eval_counter*.c ------------------------------------------------------------------------

// Shrinks one trace and writes it. Returns 0, or a negative errno with `e`.
int rb_eval_counter_make(const struct rb_eval *v, const struct rb_eval_counter_plan *plan,
                         struct rb_eval_counter *c, struct rb_error *e);
// Returns the name of the trace's files in DIR/ENGINE, without the last extension. The caller frees it.
// NULL: memory is out.
char *rb_eval_counter_stem(const struct rb_eval *v, const struct rb_eval_counter *c);
// Writes labels.json of each engine, and index.json.
int rb_eval_counters_index(const struct rb_eval *v, const struct rb_eval_counters *c, const char *dir,
                           struct rb_error *e);

#endif
