// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Traces written by hand: events, and what is expected of them.
#ifndef RB_TESTS_ENGINE_HAND_TRACE_H
#define RB_TESTS_ENGINE_HAND_TRACE_H

#include "trace/format.h"

#define E(t, kind, x)                             \
    {                                             \
        .op = RB_##kind, .thread = t, .target = x \
    }
#define W(t, x)   E(t, WRITE, x)
#define R(t, x)   E(t, READ, x)
#define ACQ(t, x) E(t, ACQUIRE, x)
#define REL(t, x) E(t, RELEASE, x)
#define TRACE(...)            \
    (const struct rb_event[]) \
    {                         \
        __VA_ARGS__           \
    }
#define CASE(what, racy, ...)                                                                \
    {                                                                                        \
        what, racy, TRACE(__VA_ARGS__), sizeof(TRACE(__VA_ARGS__)) / sizeof(struct rb_event) \
    }

struct hand_case {
    const char *what;
    uint64_t racy; // bit i: event i is the second of a race
    const struct rb_event *event;
    uint32_t count;
};

#endif
