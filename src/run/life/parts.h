// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parts of the runtime, started, restarted and ended in the order of one table (parts.def). A part's
// functions know nothing of the order; the table gives its reasons, and the compiler checks them.
//
// Invariant: rb_process.on is false while parts start and restart, so no other code of the runtime sees a
// part before it is ready.
#ifndef RB_RUN_LIFE_PARTS_H
#define RB_RUN_LIFE_PARTS_H

#include "run/core/rt.h"
#include "sample/sampler.h"

// Facts of the start that parts depend on. The table divides the memory.
struct rb_start {
    size_t memory; // memory=, or less where address space is limited
    const struct rb_sampler_spec *sampler;
    uint64_t seed;
};

// Makes all parts. Returns false if there is no memory for one of them: the runtime stays off.
RB_HIDDEN bool rb_parts_start(const struct rb_start *start);
// Empties the parts in a child of fork, for its one thread. `on`: the runtime tracks the child.
RB_HIDDEN void rb_parts_restart(bool on);
// Ends the parts with the process. Inside no guard; other threads may go on.
RB_HIDDEN void rb_parts_finish(void);

// ---- parts that are life itself: init.c, process.c -----------------------------------------------------

// Notes that this process is not a copy, on a page that the kernel clears in a child.
RB_HIDDEN void rb_watch_copies(void);
// Registers the fork handlers, before any of the program's.
RB_HIDDEN void rb_watch_fork(void);
RB_HIDDEN void rb_watch_quick_exit(void);
RB_HIDDEN void rb_watch_exit(void);

#endif
