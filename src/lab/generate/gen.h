// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes well-formed traces from a seed, as a stream. Memory depends on threads, locks and functions, but
// not on the number of events. docs/reference/lab.md describes the kind of program that the traces resemble and
// the effect of each option. Tool side.
#ifndef RB_LAB_GENERATE_GEN_H
#define RB_LAB_GENERATE_GEN_H

#include "base/error.h"
#include "base/types.h"

struct rb_gen_options {
    uint64_t events;
    uint32_t threads, locks; // `locks` counts mutexes; the objects of `rich` come on top
    uint64_t variables;
    double sync;        // share of events that synchronise, forks and joins included
    double race;        // share of unprotected accesses; 0: no happens-before race at all
    uint32_t nesting;   // largest number of locks that a thread holds at once
    uint32_t functions; // 0: no function events
    double sharing;     // share of critical sections on a lock of another thread
    double rich;        // share of synchronisation other than mutexes: rwlock, semaphore, barrier, atomics
    uint64_t seed;
};

extern const struct rb_gen_options rb_gen_defaults;

// Writes the trace to `path`. Returns 0, or a negative errno with `e`, and then leaves no file at `path`.
// An option out of range is an input fault, and `e` names it.
int rb_gen(const struct rb_gen_options *o, const char *path, rb_progress_fn progress, void *context,
           struct rb_error *e);

#endif
