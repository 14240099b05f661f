// The process confines itself by a filter of system calls (seccomp). From then on the runtime makes no system call that the
// program does not make itself: a filter may answer any other with the end of the process.
//
// Invariant: rb_host.sandboxed is set before the filter is installed, and is never cleared. Each place of the runtime that
// needs the kernel asks it first and does without. docs/reference/system-calls.md has the list.
#ifndef RB_RUN_INTERCEPT_SANDBOX_H
#define RB_RUN_INTERCEPT_SANDBOX_H

#include "run/core/rt.h"

// Prepares for a filter that is about to be installed: ends the runtime's thread, maps the memory that may still be used,
// has the reporter made. Called outside the guard; the first call alone does anything.
RB_HIDDEN void rb_sandbox_begins(void);
// Calls it if this system call installs a filter (prctl, seccomp; a thread in strict mode leaves the runtime).
RB_HIDDEN void rb_sandbox_call(long number, long a, long b, long c);

#endif
