// Makes well-formed traces from a seed, streaming, in memory that depends on threads, locks, variables and
// functions but not on the number of events. docs/generator.md says what kind of program the traces
// resemble and what each option changes. Tool side.
#ifndef RB_LAB_GEN_H
#define RB_LAB_GEN_H

#include "base/error.h"
#include "base/types.h"

struct rb_gen_options {
    uint64_t events;
    uint32_t threads, locks;
    uint64_t variables;
    double sync;      // share of events that synchronise
    double race;      // share of accesses left unprotected
    uint32_t nesting; // most locks a thread holds at once
    uint32_t functions; // 0: no function events
    double sharing;   // share of critical sections on a lock outside the thread's own group
    double rich;      // share of synchronisation that is not a mutex: rwlock, semaphore, barrier, atomics
    uint64_t seed;
};

extern const struct rb_gen_options rb_gen_defaults;

// Called every few million events; NULL for silence.
typedef void (*rb_progress_fn)(void *context, uint64_t done, uint64_t total);

int rb_gen(const struct rb_gen_options *o, const char *path, rb_progress_fn progress, void *context,
           struct rb_error *e);

#endif
