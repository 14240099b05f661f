// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A replay held against the oracle: which accesses a sampler takes (asked of the sampler itself, without an
// engine), which events must then be reported, and everything the result of a replay says about it.
#ifndef RB_TESTS_ENGINE_ORACLE_CHECK_H
#define RB_TESTS_ENGINE_ORACLE_CHECK_H

#include "engine/oracle.h"
#include "engine/random_trace.h"

// How many random traces a test looks at: `usual`, of which the main test has 10,000; RB_TEST_TRACES is what
// that one shall have instead, and the others change with it. By default a tenth under AddressSanitizer.
uint32_t test_traces(uint32_t usual);

// A trace on file and its graph.
struct subject {
    const struct random_trace *trace;
    struct rb_reader reader;
    struct oracle oracle;
};

void subject_open(struct subject *s, const struct random_trace *trace);
void subject_close(struct subject *s);

// What one sampler with one seed makes of it.
struct expected {
    struct rb_sampler_spec spec;
    uint64_t seed;
    enum rb_take take[RANDOM_TRACE_MOST];
    bool seen[RANDOM_TRACE_MOST]; // in a window; everything, but for rpt
    bool racy[RANDOM_TRACE_MOST];
    bool checks; // some access is only checked: PACER
    uint32_t racy_events, windows;
};

struct rb_sampler_spec test_sampler(const char *text);
// Drives the sampler as the replay does: gap, ask, enter and exit in the order of the trace.
void test_decisions(const struct rb_reader *r, const struct rb_event *events, uint32_t count,
                    const struct rb_sampler_spec *spec, uint64_t seed, enum rb_take *take);
void expect(struct expected *x, const struct subject *s, const struct rb_sampler_spec *spec, uint64_t seed);

// What one engine said.
struct report {
    int status;
    struct rb_error error;
    struct rb_result result;
    char *csv;
    size_t bytes;
    struct reported {
        uint32_t first, second;
    } race[RANDOM_TRACE_MOST];
    uint32_t races;
    const char *malformed; // a line of the CSV that is not what the events say
};

void report_make(struct report *p, struct subject *s, const struct rb_engine_ops *engine,
                 const struct expected *x, bool lenient);
void report_free(struct report *p);

// NULL, or what is wrong. `report_check` is for any run that came to its end: no false pair, and counts that
// agree with the CSV and the trace. The others add what the engine promises to find.
const char *report_check(const struct report *p, const struct subject *s, const struct expected *x);
const char *report_check_exact(const struct report *p, const struct subject *s, const struct expected *x);
const char *report_check_first(const struct report *p, const struct subject *s, const struct expected *x);
// Only that every reported pair is a race: also for runs cut short.
const char *report_check_true(const struct report *p, const struct subject *s, const struct expected *x);

// The trace with what was expected and what was said, on stderr.
void report_print(const struct report *p, const struct subject *s, const struct expected *x,
                  const char *engine, const char *wrong);

#endif
