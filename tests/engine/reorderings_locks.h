// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Small random traces of locks and accesses: sections nested and not, to read and to write, some left open,
// threads that are forked and threads that are just there. Lock discipline is kept. What sections do to each
// other is the heart of prediction and rare in a trace of all kinds (engine/random_trace.h).
#ifndef RB_TESTS_ENGINE_REORDERINGS_LOCKS_H
#define RB_TESTS_ENGINE_REORDERINGS_LOCKS_H

#include "trace/format.h"

// `count` events, of 2 to 4 threads numbered from 0, at most 3 locks and 4 variables; says how many threads.
uint32_t reorderings_random_locks(struct rb_event *events, uint32_t count, uint64_t seed);

#endif
