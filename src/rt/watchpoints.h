// The watchpoint assist (watch=1): docs/sampling.md, "Watchpoints".
//
// A sampled access also sets one of the machine's four data breakpoints on its bytes, in all threads. Another
// thread's access of them traps, be its call site asleep or not, and is judged as if it had been sampled. A
// trap adds accesses to what the sampler takes and nothing else: the clocks decide, as for all others, so it
// can report no race that sampling could not. While all rests there are no clocks to decide: traps are
// ignored.
#ifndef RB_RT_WATCHPOINTS_H
#define RB_RT_WATCHPOINTS_H

#include "rt/arch.h"
#include "rt/history.h"

// When the next one may be set, in ticks of the clock; UINT64_MAX: none. Written by the ticker, by whoever
// sets one, and by what switches the assist off.
extern RB_HIDDEN uint64_t rb_watchpoints_next;

RB_INLINE bool rb_watchpoints_due(void)
{
    const uint64_t next = __atomic_load_n(&rb_watchpoints_next, __ATOMIC_RELAXED);

    return RB_UNLIKELY(next != UINT64_MAX) && rb_arch_ticks() >= next;
}

// Opens the breakpoints if watch= or the sampler wants them: the calling thread and all that it and its
// descendants make from now on have them. Inside the guard, before the second thread.
RB_HIDDEN void rb_watchpoints_open(void);
RB_HIDDEN void rb_watchpoints_arm(struct rb_self *me, const struct rb_touch *t, uintptr_t pc);
// A SIGTRAP: true if it was ours, and is dealt with.
RB_HIDDEN bool rb_watchpoints_trap(const siginfo_t *info, void *context);
// The ticker: the sampler has earned so many ticks since the last turn; `open`: it has some left.
RB_HIDDEN void rb_watchpoints_turn(int64_t earned, bool open);
// A rest has begun (docs/runtime.md, section 3): no access is taken any more, so there is nothing to wait
// for.
RB_HIDDEN void rb_watchpoints_rest(void);
// Now and then, by one thread at a time: does anything speak against them? Then they are stopped. False:
// there are none.
RB_HIDDEN bool rb_watchpoints_check(void);
RB_HIDDEN uint64_t rb_watchpoints_spent(void);          // ticks
RB_HIDDEN void rb_watchpoints_stop(const char *reason); // for good; NULL: the program ends
RB_HIDDEN void rb_watchpoints_reset_after_fork(void);
// Do we need SIGTRAP?
RB_HIDDEN bool rb_watchpoints_on(void);
// There are none, though they were asked for: one line says so, and the program goes on.
RB_HIDDEN void rb_watchpoints_refused(const char *reason);
// For the statistics: NULL if they work or were not asked for.
RB_HIDDEN const char *rb_watchpoints_missing(void);

#endif
