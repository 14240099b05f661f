// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Happens-before by its definition: a graph over the events of a trace and its transitive closure. Slow,
// without clocks, epochs or state of sync objects, so that it cannot be wrong together with an engine.
//
// Direct edges, from event i to a later event j:
//   thread order   same thread
//   fork           i forks j's thread
//   join           j joins i's thread, or the thread that i forks (which may have no event of its own)
//   object         i releases and j acquires the same object, i is visible to j (a read-unlock: to
//   write-locks
//                  only), and no release store on the object lies between them
// Everything else (which lock is held, how often, by whom) makes no edge and hides none.
#ifndef RB_TESTS_ENGINE_ORACLE_H
#define RB_TESTS_ENGINE_ORACLE_H

#include "sample/sampler.h"
#include "trace/format.h"

struct oracle {
    const struct rb_event *event;
    uint32_t count;
    uint32_t words;   // of a row
    uint64_t *before; // row j, bit i: there is a path from i to j
};

// `events` must stay; memory is the test's, failures abort.
void oracle_build(struct oracle *o, const struct rb_event *events, uint32_t count);
void oracle_free(struct oracle *o);

static inline bool oracle_ordered(const struct oracle *o, uint32_t i, uint32_t j)
{
    return o->before[(size_t)j * o->words + i / 64] >> (i % 64) & 1;
}

// Two accesses of different threads to one variable, one of them a write, i before j in the trace and not in
// the graph.
bool oracle_unordered(const struct oracle *o, uint32_t i, uint32_t j);

// The same under the decisions of a sampler: i was taken, j taken or checked, and no checked access between
// them has made i needless (PACER's discard rule: c comes after i in the graph and conflicts with all that i
// conflicts with).
bool oracle_races(const struct oracle *o, const enum rb_take *take, uint32_t i, uint32_t j);

// Marks the events that are the second of some race; says how many.
uint32_t oracle_racy(const struct oracle *o, const enum rb_take *take, bool *racy);

#endif
