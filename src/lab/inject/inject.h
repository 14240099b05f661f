// `railbird inject`: labelled traces from a base. Points are drawn, workers move the pairs apart, every order
// is checked by the verifier before it is written, and labels.json grows. What trace number k looks like is a
// function of the base, the seed, k and the options, not of the number of workers. Tool side.
#ifndef RB_LAB_INJECT_INJECT_H
#define RB_LAB_INJECT_INJECT_H

#include "lab/inject/spread.h"

enum rb_kind { RB_KIND_WW, RB_KIND_RW, RB_KIND_WR };

struct rb_inject_options {
    const char *base, *dir; // as the user gave them
    uint64_t traces;
    struct rb_spread_plan plan; // its `stop` is set here
    uint64_t seed;
    enum rb_kind kind;
    unsigned jobs;
    unsigned negatives;     // wanted of each trace
    double time_limit;      // seconds; 0: none
    bool text;              // STD text instead of .rbt
    const int *interrupted; // set from outside, atomically: finish and label what there is
    void (*progress)(void *context, uint64_t made, uint64_t wanted, uint64_t distance);
    void *context;
};

struct rb_inject_result {
    uint64_t events, threads, points; // of the base
    uint64_t made, short_of;          // traces written; of them with less than the distance asked for
    uint64_t reversed;                // with sections that changed their order
    uint64_t solver_traces;           // that the solver had a hand in
    uint64_t moves;
    struct rb_solver_counts solver, proofs; // moving apart; proving negatives
    uint64_t negatives[3], races;           // by proof; candidates that turned out to race
    double distance_sum, distance_squares;
    uint64_t distance_most;
    double seconds;
    bool out_of_time, was_interrupted;
};

// `base` is open; its names are loaded here. 0 or a negative errno with `e`; what was made is labelled in
// either case.
int rb_inject(struct rb_reader *base, const struct rb_inject_options *o, struct rb_inject_result *result,
              struct rb_error *e);

#endif
