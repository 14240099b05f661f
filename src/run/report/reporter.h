// The reporter: a process beside the program that puts names to races and delivers them, so that a thread
// that found one goes on. docs/reports.md, "How a report is delivered".
//
// Three processes: the program, a middle process and the tool (`railbird report --live --ring`).
//   - They share a ring of records (base/report_ring.h). The tool alone reads it, and holds nothing else of the
//     program but its descriptor for text.
//   - The middle process exists because exec gives a child its exit signal back. It shares the program's
//     memory, but none of its descriptors, waits until the tool is at work, and ends. It is an orphan from the
//     start: the process that made it has ended. So the program has no child more, no zombie and no SIGCHLD.
//   - Where orphans become the program's children (it is number 1, or a subreaper) the middle process is a
//     child without an exit signal, and waits for the tool's end.
//   - The tool ends when the program has ended, or some seconds after the last record. It is started again
//     when needed.
//
// Invariant: a record that rb_reporter_give took is in the ring until the tool has delivered and counted it.
// Where the tool ends without that, the program prints it itself, as plain text.
#ifndef RB_RUN_REPORT_REPORTER_H
#define RB_RUN_REPORT_REPORTER_H

#include "run/core/upcalls.h"

// Everything here is called by one thread at a time, inside the guard: race.c has the lock.

// Hands a record over: a JSON line, and the text to print if the tool is of no use. Waits only while the ring
// is full. Returns false if it cannot be delivered that way.
RB_HIDDEN bool rb_reporter_give(const char *record, size_t record_bytes, const char *plain,
                                size_t plain_bytes);
// Waits until all is delivered. Bounded: what takes too long is printed as plain text.
RB_HIDDEN void rb_reporter_wait(void);
// The same, and ends the reporter. The next record starts another one.
RB_HIDDEN void rb_reporter_end(void);
// Starts it now, to stay as long as the program; afterwards the program makes no system call for it.
RB_HIDDEN void rb_reporter_stay(void);
// Takes notice of a middle process that has ended. Does not wait.
RB_HIDDEN void rb_reporter_reap(void);
// Returns true if the middle process is a child, which a wait for all kinds of children sees.
RB_HIDDEN bool rb_reporter_is_child(void);
RB_HIDDEN void rb_reporter_reset_after_fork(void);

struct rb_reporter_totals {
    uint64_t reported, suppressed, hidden;
};
// What came of the records so far.
RB_HIDDEN struct rb_reporter_totals rb_reporter_totals(void);

#endif
