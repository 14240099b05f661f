// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every other execution that a small trace promises, by trying them all: the judge of the predictive engines
// and of injected races. Straight from docs/explanation/reordering.md, R1 to R5, and shares no code with an engine: no
// clocks, no closures. A state is which events have run and which write each variable saw last; all reachable
// states are visited once.
//
// Where the definition leaves something open, for traces that are not well-formed:
//   fork, join   an event needs the forks of its thread that σ has before it; a join needs the events and the
//   forks of
//                the joined thread that σ has before it
//   misuse       a lock that is taken while another thread has it, released by one that has not, or taken
//   both ways by
//                one thread at a time keeps the order of all its events, as an object with lock events and
//                others does
//
// R5 is stricter than happens-before: two release stores, or a load and a later store, keep their order
// although no clock says so. A happens-before race on a trace with such events need not be predictable.
#ifndef RB_TESTS_ENGINE_REORDERINGS_H
#define RB_TESTS_ENGINE_REORDERINGS_H

#include "trace/format.h"

#define REORDERINGS_EVENTS  64u
#define REORDERINGS_THREADS 8u
#define REORDERINGS_NONE    UINT8_MAX

// What the trace says about one event.
struct reorderings_event {
    uint64_t needs;     // R1, R4, R5: a bit for each event that has to run before it
    uint8_t thread;     // compact number
    uint8_t variable;   // of an access; compact
    uint8_t reads_from; // of a read: the last write before it, or REORDERINGS_NONE
    uint8_t lock;       // of an event that opens a section (R3): compact, else REORDERINGS_NONE
    uint8_t closed_by;  // of the same: the event that closes it, or REORDERINGS_NONE
    bool read_section;  // of the same
};

struct reorderings {
    const struct rb_event *event;
    uint32_t count, threads, variables, locks;
    struct reorderings_event about[REORDERINGS_EVENTS];
    // [0] all correct reorderings, [1] those that preserve the order of sections. Row i, bit j: some state
    // has both i and j next, each with what R4 asks of it.
    uint64_t together[2][REORDERINGS_EVENTS];
    bool explored[2], deadlocked;
    uint64_t states;
};

// `events` must stay. False: too many events, threads or states (about a million) to judge. Nothing to close.
bool reorderings_open(struct reorderings *r, const struct rb_event *events, uint32_t count);
// Are i and j (in either order) a predictable race: accesses of different threads to one variable, one a
// write, both next in some state? The second: in a state that a reordering reaches in which the sections of
// each lock come in the order of the trace, two read sections excepted.
bool reorderings_predictable(const struct reorderings *r, uint32_t i, uint32_t j);
bool reorderings_sync_preserving(struct reorderings *r, uint32_t i, uint32_t j);
// Is there a state in which threads wait for locks in a circle?
bool reorderings_deadlock(const struct reorderings *r);
// Is this sequence of event numbers a correct reordering?
bool reorderings_correct(const struct reorderings *r, const uint32_t *order, uint32_t n);

#endif
