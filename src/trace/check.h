// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads a whole trace and checks its claims: every page and table is sound, the header's counts are those
// of the events, the lock discipline is kept. Tool side.
#ifndef RB_TRACE_CHECK_H
#define RB_TRACE_CHECK_H

#include "trace/reader.h"

// Irregularities that are no errors; each non-zero count is printed.
struct rb_check_notes {
    uint64_t unmatched_release, overlapping_acquire; // under lenient
    uint64_t open_locks;                             // held at the end
    uint64_t exit_without_enter;
    uint64_t runs_before_fork, runs_after_join, forked_twice;
};

int rb_check(struct rb_reader *r, bool lenient, struct rb_check_notes *notes, rb_progress_fn progress,
             void *context, struct rb_error *e);

#endif
