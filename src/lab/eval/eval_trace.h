// A labelled trace in memory: the check that it is what its label says, and smaller traces made of some of
// its events. Private to lab/ and its tests.
#ifndef RB_LAB_EVAL_EVAL_TRACE_H
#define RB_LAB_EVAL_EVAL_TRACE_H

#include "lab/eval/eval.h"
#include "trace/reader.h"

// Is the trace the one that was labelled? An error says what differs. Loads the reader's names.
int rb_eval_trace_check(const struct rb_events *t, struct rb_reader *r, const struct rb_eval_label *l,
                        struct rb_error *e);

// The numbers that a smaller trace gives to what it still uses, from 0 in the order of the larger one: the
// same for every order of the same events.
struct rb_eval_numbers {
    uint32_t *map[RBT_TABLES]; // number in the larger trace -> number + 1; 0: not used
    uint64_t count[RBT_TABLES];
    uint64_t limit[RBT_TABLES]; // of the larger one
};

// For the events with kept[i]; `last` is the variable that gets the highest number. 0 or -ENOMEM; free in
// either case.
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
// failure. With `names` the tables have the names of that reader, else numbers only. 0 or a negative errno
// with `e`.
int rb_eval_trace_write(const struct rb_event *events, uint64_t count, const struct rb_eval_numbers *n,
                        const struct rb_reader *names, const char *path, int fd, struct rb_error *e);

#endif
