// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The watchpoint assist (watch=1): docs/explanation/watchpoints.md. And the samplers that compare by data
// breakpoints alone (trap_races.c).
//
// A sampled access also sets one of the machine's four data breakpoints on its bytes, in all threads.
// Another thread's access of them traps, even if its call site is asleep, and is judged as if it had been
// sampled. A trap adds accesses to those that the sampler takes and nothing else: the clocks decide, as for
// all others, so it can report no race that sampling could not. While tracking is paused there are no
// clocks to decide: traps are ignored.
#ifndef RB_RUN_WATCHPOINT_WATCHPOINTS_H
#define RB_RUN_WATCHPOINT_WATCHPOINTS_H

#include <ucontext.h>

#include "inproc/breakpoints.h"
#include "run/core/upcalls.h"

// Handles a SIGTRAP. Returns true if it was ours.
RB_HIDDEN bool rb_watchpoints_trap(siginfo_t *info, void *context);
// Stops the breakpoints if something prevents their use. Called now and then, by one thread at a time.
// Returns false if there are none.
RB_HIDDEN bool rb_watchpoints_check(void);
RB_HIDDEN void rb_watchpoints_stop(const char *reason); // for good; NULL: the program ends
RB_HIDDEN void rb_watchpoints_reset_after_fork(void);
// Returns true if the runtime needs SIGTRAP.
RB_HIDDEN bool rb_watchpoints_on(void);
// Prints a line that there are none, though they were asked for. The program goes on.
RB_HIDDEN void rb_watchpoints_refused(const char *reason);
// Returns the reason for the statistics; NULL if they work or were not asked for.
RB_HIDDEN const char *rb_watchpoints_missing(void);

// ---- trap_decode.c -------------------------------------------------------------------------------------
// Finds the access that has hit a breakpoint. A trap comes after the instruction, and names neither the
// bytes it touched nor whether it wrote.
//
// An access counts only if it is shown to be a plain one that a hook announced. The nearest call site
// before it, verified in the code, calls the hook of a single plain access. From there to the trap the code
// is a straight line. Of its instructions the trapping one is the first that touches memory as the hook
// announced. So atomics (done in the runtime), libc, inline assembly and code without hooks are not shown.

struct rb_trapped {
    struct rb_memory_access touch;
    uintptr_t site; // return address of the call of its hook
};

// Finds the access that has hit the breakpoint on [watched, watched + bytes). Returns false if it is not
// shown. Inside the guard.
RB_HIDDEN bool rb_trapped_find(const struct rb_self *me, uintptr_t watched, unsigned bytes,
                               const ucontext_t *context, struct rb_trapped *caught);
// Returns true if the address is on the thread's own stack, or thread-local: no place for a breakpoint.
// errno is there, which our handler would hit.
RB_HIDDEN bool rb_trapped_is_own(const struct rb_self *me, uintptr_t address);

// ---- trap_races.c --------------------------------------------------------------------------------------

// Handles a hit of one of our breakpoints.
RB_HIDDEN void rb_collide_trap(const struct rb_breakpoint_hit *hit, const void *context);
RB_HIDDEN void rb_collide_forget_slow(uintptr_t from, size_t bytes);

// Ends the uses in [from, from + bytes), which starts anew: earlier accesses there belong to no thread.
RB_INLINE void rb_collide_forget(uintptr_t from, size_t bytes)
{
    if (RB_UNLIKELY(rb_process.collides))
        rb_collide_forget_slow(from, bytes);
}

#endif
