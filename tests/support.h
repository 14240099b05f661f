// What tests share: a trace written to an unnamed file and opened again.
#ifndef RB_TESTS_SUPPORT_H
#define RB_TESTS_SUPPORT_H

#include "lab/replay/replay.h"
#include "trace/writer.h"

// Table sizes for test_trace; a count of 0 becomes the largest number used + 1.
struct test_sizes {
    uint64_t threads, locks, variables, locations, functions;
};

// Writes the events and opens them; aborts the test on any failure.
void test_trace(struct rb_reader *r, const struct rb_event *events, uint64_t count,
                const struct test_sizes *sizes);

#endif
