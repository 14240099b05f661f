// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One replay: one trace, one engine, one sampler. Runs the events through the engine and counts. `analyze`
// prints one result, `compare` a table of them. Tool side.
#ifndef RB_LAB_REPLAY_REPLAY_H
#define RB_LAB_REPLAY_REPLAY_H

#include <stdio.h>

#include "base/error.h"
#include "engine/engine.h"
#include "lab/replay/hash_tables.h"
#include "sample/sampler.h"
#include "trace/reader.h"

// The engines for traces: those that also run in programs (engine/engine.h), and the predictive ones, which
// need the whole trace. rb_lab_engines begins with those of rb_engines, in their order; NULL at the end.
extern const struct rb_engine_ops rb_engine_shb, rb_engine_wcp, rb_engine_syncp;
extern const struct rb_engine_ops *const rb_lab_engines[];
const struct rb_engine_ops *rb_lab_engine_find(const char *name);

// Called at each warning with the numbers of the two events, and the variable.
typedef void (*rb_warning_fn)(void *context, uint64_t first, uint64_t second, uint64_t variable);

struct rb_replay_options {
    const struct rb_engine_ops *engine;
    struct rb_sampler_spec sampler;
    uint64_t seed;
    bool lenient;
    FILE *races;          // a CSV line a warning; NULL for none
    rb_warning_fn warned; // may be NULL
    void *warned_context;
    rb_progress_fn progress;
    void *progress_context;
};

struct rb_result {
    uint64_t accesses; // of the whole trace; under RPT from the header, else counted
    // counted from the events that were read (all of the trace, or RPT's windows)
    uint64_t sampled, events_read;
    uint64_t acquires, acquires_skipped, releases, releases_processed;
    uint64_t deep_copies, entries_traversed, entries_total;
    uint64_t starved; // accesses that were not recorded because memory was out: races may be missed
    uint64_t warnings;
    uint64_t lenient_releases, lenient_acquires; // misuse tolerated under --lenient
    uint64_t bytes_read;
    uint64_t windows;           // RPT: after merging
    bool regions_are_locations; // the sampler needs functions and the trace has none
    double seconds;             // wall time of the analysis, reading included
    double cpu_seconds;

    struct rb_pair_set static_races;   // unordered pairs of location ids
    struct rb_pair_set racy_variables; // (variable, variable)
};

// Returns the bytes that all threads' clocks take if each thread learns of every other.
uint64_t rb_replay_clock_bytes(const struct rb_reader *r);
// Runs a replay. The reader can be used again afterwards. Returns 0, or a negative errno with `e`. `result`
// must be released with rb_result_free in either case.
int rb_replay(struct rb_reader *r, const struct rb_replay_options *o, struct rb_result *result,
              struct rb_error *e);
void rb_result_free(struct rb_result *result);

#endif
