// Makes well-formed traces from a seed, streaming, in memory that depends on threads, locks and functions but
// not on the number of events. docs/generator.md says what kind of program the traces resemble and what each
// option changes. Tool side.
#ifndef RB_LAB_GENERATE_GEN_H
#define RB_LAB_GENERATE_GEN_H

#include "base/error.h"
#include "base/types.h"

struct rb_gen_options {
    uint64_t events;
    uint32_t threads, locks; // `locks` counts mutexes; the objects that `rich` adds come on top
    uint64_t variables;
    double sync;        // share of events that synchronise, forks and joins included
    double race;        // share of accesses left unprotected; 0: no happens-before race at all
    uint32_t nesting;   // most locks a thread holds at once
    uint32_t functions; // 0: no function events
    double sharing;     // share of critical sections on a lock that is not the thread's own
    double rich;        // share of synchronisation that is not a mutex: rwlock, semaphore, barrier, atomics
    uint64_t seed;
};

extern const struct rb_gen_options rb_gen_defaults;

// Writes the trace to `path`. 0, or a negative errno with `e`: an option out of range is the user's fault and
// named; nothing is left at `path` then.
int rb_gen(const struct rb_gen_options *o, const char *path, rb_progress_fn progress, void *context,
           struct rb_error *e);

#endif
