// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From a race found to a report: once for each pair of code places, for all threads and addresses. The
// record goes to the reporter, which symbolizes outside this process. See docs/reference/reports.md.
#ifndef RB_RUN_REPORT_RACE_H
#define RB_RUN_REPORT_RACE_H

#include "run/core/upcalls.h"

// Returns true if a race was reported, or will be.
RB_HIDDEN bool rb_races_are_found(void);
// Waits for the reporter, at the end of the process: later races are not reported. rb_process.races and
// .suppressed are right afterwards.
RB_HIDDEN void rb_races_finish(void);

RB_HIDDEN int rb_race_reports_init(void);
RB_HIDDEN void rb_races_reset_after_fork(void);

// ---- a report as the program sees it -------------------------------------------------------------------
// For __tsan_on_report, and for the __tsan_get_report_* functions, which are for use inside it
// (tsan_report.c).

struct rb_report_access {
    uintptr_t address;
    size_t size;
    uint32_t thread;
    rb_stack stack;
    bool write, atomic;
};

struct rb_report_view {
    struct rb_report_access access[2]; // the later one first
};

// Calls the program's function, if it has one. No lock is held; the function runs outside the guard, and
// may itself race.
RB_HIDDEN void rb_report_hook(struct rb_self *me, const struct rb_report_view *view);
// Returns true if the program has one: then it is called when the result of the report is known.
RB_HIDDEN bool rb_report_hook_is_set(void);

// The function that the program wants called before it is ended for a race.
extern RB_HIDDEN void (*rb_death_callback)(void);

// ---- the reporter (reporter.c) -------------------------------------------------------------------------
// Called by one thread at a time, inside the guard: race.c has the lock.

// Hands a record over: a JSON line, and the text to print if the tool is of no use. Waits only while the
// ring is full. Returns false if it cannot be delivered that way.
RB_HIDDEN bool rb_reporter_give(const char *record, size_t record_bytes, const char *plain,
                                size_t plain_bytes);
// Waits until all is delivered. Bounded: a record that takes too long is printed as plain text.
RB_HIDDEN void rb_reporter_wait(void);
// Waits likewise, and ends the reporter. The next record starts another one.
RB_HIDDEN void rb_reporter_end(void);
// Starts it now, to stay as long as the program; afterwards the program makes no system call for it.
RB_HIDDEN void rb_reporter_stay(void);
// Reaps a middle process that has ended. Does not wait.
RB_HIDDEN void rb_reporter_reap(void);
// Returns true if the middle process is a child, which a wait for all kinds of children sees.
RB_HIDDEN bool rb_reporter_is_child(void);
RB_HIDDEN void rb_reporter_reset_after_fork(void);

struct rb_reporter_totals {
    uint64_t reported, suppressed, hidden;
    uint64_t partial; // of those reported
};
// Returns the results of the records so far.
RB_HIDDEN struct rb_reporter_totals rb_reporter_totals(void);

#endif
