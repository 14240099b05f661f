// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs one trace through every engine and every sampler, several times. Reports the races found, the cost,
// and the spread over seeds. `railbird compare` prints the result, and three writers share it. Tool side.
//
// Every row of run i uses seed + i, so that engines under one sampler see the same S. The yardstick is
// FastTrack on all accesses ("the baseline"): always measured, always a row.
#ifndef RB_LAB_COMPARE_COMPARE_H
#define RB_LAB_COMPARE_COMPARE_H

#include <jansson.h>

#include "lab/replay/replay.h"

#define RB_COMPARE_RUNS 10000u // largest number of runs

struct rb_compare_plan {
    const struct rb_engine_ops **engines;
    size_t engine_count;
    struct rb_sampler_spec *samplers;
    size_t sampler_count;
    uint32_t runs; // 1 to RB_COMPARE_RUNS
    uint64_t seed;
    bool lenient;
    rb_progress_fn progress; // called during each replay; may be NULL
    void *progress_context;
};

enum rb_metric {
#define RB_METRIC(name, meaning) RB_M_##name,
#include "lab/compare/compare_metrics.def"
#undef RB_METRIC
    RB_METRICS
};

// Statistics over the runs in which the value is defined. All are NaN if there is no such run; sd is NaN
// for fewer than two.
struct rb_summary {
    double mean, sd, median, low, high;
};

struct rb_compare_row {
    const struct rb_engine_ops *engine;
    struct rb_sampler_spec sampler;
    double nominal;   // rate that the sampler's name promises; NaN: none
    double speedup;   // baseline's median processor time / this row's; NaN if too short to measure
    bool by_location; // the sampler needs functions and the trace has none
    struct rb_summary of[RB_METRICS];
};

struct rb_comparison {
    const char *trace; // as given on the command line
    uint64_t events, threads, locks, variables, accesses;
    uint64_t lenient_releases, lenient_acquires;
    uint64_t rare, frequent; // static races of the baseline, split as LiteRace does
    uint32_t runs;
    uint64_t seed;
    bool raced;                 // at least one run had a warning
    size_t row_count, baseline; // rows of one sampler are neighbours
    struct rb_compare_row *rows;
};

// Runs the comparison. Returns 0, or a negative errno with `e`. `c` must be released with
// rb_comparison_free in either case.
int rb_compare(struct rb_reader *r, const struct rb_compare_plan *plan, struct rb_comparison *c,
               struct rb_error *e);
void rb_comparison_free(struct rb_comparison *c);

// Returns the index after the last row of the sampler that row `first` belongs to.
size_t rb_compare_group_end(const struct rb_comparison *c, size_t first);

// Computes the statistics of `count` values, some of which may be NaN. Sorts the values.
struct rb_summary rb_summarize(double *values, size_t count);

// The writers. rb_compare_json returns NULL when memory is out.
void rb_compare_text(FILE *out, const struct rb_comparison *c);
json_t *rb_compare_json(const struct rb_comparison *c, size_t count, const struct rb_compare_plan *plan);
void rb_compare_html(FILE *out, const struct rb_comparison *c, size_t count,
                     const struct rb_compare_plan *plan);

#endif
