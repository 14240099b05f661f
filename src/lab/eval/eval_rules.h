// What must hold between the engines' answers on one trace: docs/eval.md says why. Private to lab/ and its
// tests.
#ifndef RB_LAB_EVAL_EVAL_RULES_H
#define RB_LAB_EVAL_EVAL_RULES_H

#include "lab/eval/eval.h"
#include "trace/reader.h"

// The events at which an engine warned, in the order of the trace.
struct rb_eval_warned {
    uint64_t *at;
    size_t count, room;
    bool out_of_memory;
};
void rb_eval_warned_add(struct rb_eval_warned *w, uint64_t event);

// Is happens-before all the order that R5 (docs/reordering.md) asks for? Said for sure if no object that is
// no plain lock is used by two threads. 0 or -ENOMEM.
int rb_eval_locks_only(const struct rb_events *t, bool *yes);

// Which rules can be checked with the detectors there are.
void rb_eval_rules_start(struct rb_eval *v);
// Checks them on a trace; `warned` has an entry for each detector, empty for samplers. One thread at a time.
void rb_eval_rules_check(struct rb_eval *v, size_t trace, const struct rb_eval_warned *warned,
                         bool locks_only);

#endif
