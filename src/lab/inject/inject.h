// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `railbird inject`: makes labelled traces from a base. It draws points, workers move the pairs apart, the
// verifier checks every order before it is written, and labels.json grows. Trace number k is a function of
// the base, the seed, k and the options, not of the number of workers. Tool side.
#ifndef RB_LAB_INJECT_INJECT_H
#define RB_LAB_INJECT_INJECT_H

#include "lab/inject/spread.h"

enum rb_kind { RB_KIND_WW, RB_KIND_RW, RB_KIND_WR };

struct rb_inject_options {
    const char *base, *dir; // as given on the command line
    uint64_t traces;
    struct rb_spread_plan plan; // rb_inject sets its `stop`
    uint64_t seed;
    enum rb_kind kind;
    unsigned jobs;
    unsigned negatives;     // number wanted for each trace
    double time_limit;      // in seconds; 0: none
    bool text;              // STD text instead of .rbt
    const int *interrupted; // set atomically from outside: finish and label the traces made so far
    void (*progress)(void *context, uint64_t made, uint64_t wanted, uint64_t distance);
    void *context;
};

struct rb_inject_result {
    uint64_t events, threads, points; // of the base
    uint64_t made, short_of;          // traces written; of them with less than the requested distance
    uint64_t reversed;                // traces with sections in another order
    uint64_t solver_traces;           // traces to which the solver contributed
    uint64_t moves;
    struct rb_solver_counts solver, proofs; // for moving apart; for proving negatives
    uint64_t negatives[3], races;           // by proof; candidates that turned out to be races
    double distance_sum, distance_squares;
    uint64_t distance_most;
    double seconds;
    bool out_of_time, was_interrupted;
};

// Runs the injection. `base` is open, and its names are loaded here. Returns 0, or a negative errno with
// `e`. The traces made are labelled in either case.
int rb_inject(struct rb_reader *base, const struct rb_inject_options *o, struct rb_inject_result *result,
              struct rb_error *e);

#endif
