// The watchpoint assist (watch=1): docs/sampling.md, "Watchpoints".
//
// A sampled access also sets one of the machine's four data breakpoints on its bytes, in all threads. Another
// thread's access of them traps, be its call site asleep or not, and is judged as if it had been sampled. A
// trap adds accesses to what the sampler takes and nothing else: the clocks decide, as for all others, so it
// can report no race that sampling could not. While all rests there are no clocks to decide: traps are
// ignored.
#ifndef RB_RUN_WATCHPOINT_WATCHPOINTS_H
#define RB_RUN_WATCHPOINT_WATCHPOINTS_H

#include "run/core/upcalls.h"

// A SIGTRAP: true if it was ours, and is dealt with.
RB_HIDDEN bool rb_watchpoints_trap(const siginfo_t *info, void *context);
// Now and then, by one thread at a time: does anything speak against them? Then they are stopped. False:
// there are none.
RB_HIDDEN bool rb_watchpoints_check(void);
RB_HIDDEN void rb_watchpoints_stop(const char *reason); // for good; NULL: the program ends
RB_HIDDEN void rb_watchpoints_reset_after_fork(void);
// Do we need SIGTRAP?
RB_HIDDEN bool rb_watchpoints_on(void);
// There are none, though they were asked for: one line says so, and the program goes on.
RB_HIDDEN void rb_watchpoints_refused(const char *reason);
// For the statistics: NULL if they work or were not asked for.
RB_HIDDEN const char *rb_watchpoints_missing(void);

#endif
