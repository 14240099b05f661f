// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random journeys through functions with all kinds of frames; see unwind_cases.c.
#ifndef RB_TESTS_UNWIND_CASES_H
#define RB_TESTS_UNWIND_CASES_H

#include <setjmp.h>

#include "base/rng.h"

struct trip {
    struct rb_rng rng;
    unsigned depth, most; // frames below the start, and how many there may be
    unsigned budget;      // calls left
    bool signals;         // the signal's handler may be part of the journey
    void (*probe)(struct trip *t);
    jmp_buf *escape; // innermost place to jump back to, or NULL
    uint64_t sum;    // keeps the functions from being optimised away
};

typedef void (*trip_case)(struct trip *t);

#define UNWIND_CASES 16

// Calls a random case of a random build, or probes.
void trip_on(struct trip *t);
void trip_by_signal(struct trip *t); // the same from a handler

extern const trip_case unwind_cases_plain[UNWIND_CASES], unwind_cases_pointer[UNWIND_CASES],
    unwind_cases_small[UNWIND_CASES], unwind_cases_none[UNWIND_CASES];

#endif
