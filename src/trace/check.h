// Reads a whole trace and says whether it is what it claims to be: every page and table sound, the header's
// counts those of the events, the lock discipline kept. Tool side.
#ifndef RB_TRACE_CHECK_H
#define RB_TRACE_CHECK_H

#include "trace/reader.h"

// Oddities that are no errors; each non-zero count is printed.
struct rb_check_notes {
    uint64_t unmatched_release, overlapping_acquire; // under lenient
    uint64_t open_locks;                             // held at the end
    uint64_t exit_without_enter;
    uint64_t runs_before_fork, runs_after_join, forked_twice;
};

int rb_check(struct rb_reader *r, bool lenient, struct rb_check_notes *notes, rb_progress_fn progress,
             void *context, struct rb_error *e);

#endif
