// The functions by which a room calls a higher one. Each is defined in the room that stands above it here. A call
// upwards that is not in this file does not exist: src/run/ROOMS.
#ifndef RB_RUN_CORE_UPCALLS_H
#define RB_RUN_CORE_UPCALLS_H

#include "base/ticks.h"
#include "run/core/race_event.h"

// ---- watchpoint ----------------------------------------------------------------------------------------

// When the next breakpoint may be set, in ticks of the clock; UINT64_MAX: none. Written by the ticker, by the
// thread that sets one, and by what switches the assist off.
extern RB_HIDDEN uint64_t rb_watchpoints_next;

RB_INLINE bool rb_watchpoints_due(void)
{
    const uint64_t next = rb_load_relaxed(&rb_watchpoints_next);

    return RB_UNLIKELY(next != UINT64_MAX) && rb_arch_ticks() >= next;
}

// Sets a breakpoint on an access that the sampler has taken.
RB_HIDDEN void rb_watchpoints_arm(struct rb_self *me, const struct rb_touch *t, uintptr_t pc);
// Opens the breakpoints if watch= or the sampler wants them: the calling thread and all that it and its
// descendants make from now on have them. Inside the guard, before the second thread.
RB_HIDDEN void rb_watchpoints_open(void);
// The sampler has earned so many ticks since the last turn; `open`: it has some left.
RB_HIDDEN void rb_watchpoints_turn(int64_t earned, bool open);
// Tracking is paused: no access is taken any more, so there is nothing to wait for.
RB_HIDDEN void rb_watchpoints_rest(void);
RB_HIDDEN uint64_t rb_watchpoints_spent(void); // ticks
// An access of a hook, with the samplers that compare by traps alone (collide.h). Inside the guard, which it
// leaves.
RB_HIDDEN void rb_collide_access(struct rb_self *me, uintptr_t address, size_t size, unsigned how,
                                 uintptr_t pc);

// ---- intercept -----------------------------------------------------------------------------------------

// SIGTRAP comes to us from now on, whatever the program has done or will do about it. Inside the guard.
RB_HIDDEN bool rb_trap_take(void);
// The calling thread ends: so does the stack that its handlers had, if it was ours.
RB_HIDDEN void rb_signal_stack_end(struct rb_self *me);
// Inside the guard: the thread ends, after the destructors of its thread-local objects, for which the loader
// keeps libraries that have been closed.
RB_HIDDEN void rb_libraries_thread_ends(struct rb_self *me);

// ---- report --------------------------------------------------------------------------------------------

// Remembers a race the thread has just met. Cheap when the pair of places is known already. Reported by
// rb_races_report, which is called when no lock is held.
RB_HIDDEN void rb_race_found(struct rb_self *me, const struct rb_touch *now, uint64_t where,
                             const struct rb_hit *before);
RB_HIDDEN void rb_races_report_slow(struct rb_self *me);
// A middle process of the reporter has ended and is to be reaped. It writes this as the last thing it does.
extern RB_HIDDEN uint32_t rb_reporter_left;

RB_INLINE void rb_races_report(struct rb_self *me)
{
    if (RB_UNLIKELY(me->found || rb_reporter_left))
        rb_races_report_slow(me);
}

RB_HIDDEN void rb_races_drop(struct rb_self *me); // and reports nothing
// Starts the process that makes reports, while that can still be done.
RB_HIDDEN void rb_reporter_prepare(void);
// Waits until all races found are reported, and returns how many were.
RB_HIDDEN uint64_t rb_races_count(void);
// Ends the reporter if it is a child, before a wait that would see it. Inside the guard.
RB_HIDDEN void rb_races_pause(void);
extern RB_HIDDEN const char *rb_race_evidence; // how a race is known: docs/reports.md

#endif
