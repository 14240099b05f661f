// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Small random traces that collide often: a few threads, variables and objects, every kind of event. What a
// trace is like (how much synchronisation, how disciplined, how bursty) is drawn from its seed as well, so
// that a run over many seeds sees many kinds.
#ifndef RB_TESTS_ENGINE_RANDOM_TRACE_H
#define RB_TESTS_ENGINE_RANDOM_TRACE_H

#include "support.h"

#define RANDOM_TRACE_MOST 2048u

struct random_trace {
    struct rb_event event[RANDOM_TRACE_MOST];
    uint32_t count;
    uint32_t threads; // in use; their numbers may be spread over a larger table
    struct test_sizes sizes;
    // What a lenient reader passes over; both 0 for a trace with lock discipline.
    uint64_t bad_acquires, bad_releases;
};

struct random_shape {
    uint32_t events_min, events_max;
    uint32_t threads_min, threads_max;
    uint32_t locations_from; // number of the first location; 2^19 and more makes 16-byte records
};

extern const struct random_shape random_small; // 2-8 threads, 10-120 events

void random_trace_make(struct random_trace *t, uint64_t seed, const struct random_shape *shape);
// On stderr; `mark` (may be NULL) gives a word for an event.
void random_trace_print(const struct random_trace *t, const char *(*mark)(const void *, uint32_t),
                        const void *context);

#endif
