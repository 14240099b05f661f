// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Measures the recall of each detector on traces with a known race (labels.json, as `railbird inject`
// writes it). Every engine runs on all accesses, and `so` runs with every sampler. Tool side.
//
// A detector finds the race of a trace if it warns at the later of the two labelled events: no other event
// accesses their variable. Engines on all accesses are deterministic and run once. Samplers run `runs`
// times, and their numbers are means. Run i of trace k has seed + k * runs + i, so that the samples of
// different traces are independent. `jobs` threads share the traces; apart from times, the result does not
// depend on their number.
#ifndef RB_LAB_EVAL_EVAL_H
#define RB_LAB_EVAL_EVAL_H

#include <jansson.h>

#include "lab/replay/replay.h"

#define RB_EVAL_RUNS 10000u // largest number of runs
#define RB_EVAL_JOBS 256u
#define RB_EVAL_ALL  SIZE_MAX // as a program number: all programs together

// ---- labels --------------------------------------------------------------------------------------------

enum rb_eval_proof { RB_PROOF_TRACE, RB_PROOF_WINDOW, RB_PROOF_HB, RB_PROOFS };
extern const char *const rb_eval_proofs[RB_PROOFS];

// A pair of conflicting accesses that no reordering brings together, within the limits of `proof`.
struct rb_eval_negative {
    uint64_t events[2];
    enum rb_eval_proof proof;
};

struct rb_eval_label {
    char *file, *path; // as in labels.json; with the folder prepended
    char *base;        // NULL: not in the label
    char *variable;
    char *kind;       // "ww", "rw", "wr"; NULL: not in the label
    char *threads[2]; // NULL: not in the label
    size_t program;   // number in `programs`
    uint64_t events[2], distance;
    int64_t reversed; // critical sections in another order than in the base; -1: not in the label
    struct rb_eval_negative *negatives;
    size_t negative_count;
};

struct rb_eval_labels {
    char *dir;
    struct rb_eval_label *traces;
    size_t count;
    char **programs; // in order of appearance
    size_t program_count;
    uint64_t negatives[RB_PROOFS];
};

// Reads DIR/labels.json. Returns 0, or a negative errno with `e`. `l` must be released in either case.
int rb_eval_labels_load(struct rb_eval_labels *l, const char *dir, struct rb_error *e);
void rb_eval_labels_free(struct rb_eval_labels *l);

// ---- runs ----------------------------------------------------------------------------------------------

struct rb_eval_plan {
    const struct rb_engine_ops **engines;
    size_t engine_count;
    struct rb_sampler_spec *samplers;
    size_t sampler_count;
    uint32_t runs; // of samplers, 1 to RB_EVAL_RUNS
    uint32_t jobs; // 1 to RB_EVAL_JOBS
    uint64_t seed;
    // Opens a trace. Several threads call it at once.
    int (*open)(const char *path, struct rb_reader *r, struct rb_error *e);
    rb_progress_fn progress; // may be NULL; never called by two threads at once
    void *progress_context;
};

struct rb_eval_detector {
    const struct rb_engine_ops *engine;
    struct rb_sampler_spec sampler;
    const char *name; // of the engine, or the sampler's text
    bool exact;       // an engine on all accesses
    uint32_t runs;
};

// The results of one detector on one trace, summed over all runs.
struct rb_eval_cell {
    uint32_t found;                   // number of runs that found the race
    uint32_t false_alarms[RB_PROOFS]; // engines: warnings about a pair that is labelled as no race
    uint64_t warnings, sampled, accesses;
    double seconds;
};

// An invariant between the answers of two detectors on one trace. docs/reference/lab.md has the proofs.
struct rb_eval_rule {
    const char *claim;
    bool checked;                // its engines were run
    uint64_t traces, violations; // traces that the rule applies to; of them those that break it
    size_t example_trace;        // the first violation: its trace and event
    uint64_t example_event;
};
#define RB_EVAL_RULES 7

struct rb_eval {
    const struct rb_eval_labels *labels;
    struct rb_eval_detector *detectors;
    size_t detector_count;
    struct rb_eval_cell *cells; // [detector][trace]
    uint32_t *found_in_run;     // [detector][program][run]: number of traces
    uint32_t runs;              // runs that found_in_run has room for, for each detector
    uint64_t seed;
    uint64_t events; // of all traces
    struct rb_eval_rule rules[RB_EVAL_RULES];
};

// Runs the evaluation. Returns 0, or a negative errno with `e`. `v` must be released in either case.
// `labels` and the targets of the plan's pointers must outlive `v`.
int rb_eval_run(struct rb_eval *v, const struct rb_eval_labels *labels, const struct rb_eval_plan *plan,
                struct rb_error *e);
void rb_eval_free(struct rb_eval *v);

// ---- results -------------------------------------------------------------------------------------------

struct rb_eval_score {
    uint64_t traces;
    double found, missed; // means over the runs
    double recall;        // NaN: there is no trace
    double found_sd;      // over the runs; NaN for one run
    double seconds;       // for one run over these traces
    double rate;          // accesses sampled / accesses; NaN: none
    double warnings, sampled, accesses;
    uint64_t false_alarms[RB_PROOFS];
};
struct rb_eval_score rb_eval_score(const struct rb_eval *v, size_t detector, size_t program);

// Recall over distance: bin 0 is distance 0, bin k distances from 2^(k-1) to 2^k - 1.
#define RB_EVAL_BINS 65
struct rb_eval_bin {
    uint64_t low, high, traces;
    double found;
};
// Fills the bins up to the last one with a trace, and returns their number.
size_t rb_eval_bins(const struct rb_eval *v, size_t detector, struct rb_eval_bin bins[RB_EVAL_BINS]);

// Returns true if no detector found the race in any run.
bool rb_eval_missed_by_all(const struct rb_eval *v, size_t trace);

// The writers. rb_eval_json returns NULL when memory is out.
void rb_eval_text(FILE *out, const struct rb_eval *v);
void rb_eval_csv(FILE *out, const struct rb_eval *v);
json_t *rb_eval_json(const struct rb_eval *v);
void rb_eval_html(FILE *out, const struct rb_eval *v);

#endif
