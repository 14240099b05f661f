// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions by which a room calls a higher one. Each is defined in the room that heads its section
// here. No other call upwards exists: src/run/ROOMS.
#ifndef RB_RUN_CORE_UPCALLS_H
#define RB_RUN_CORE_UPCALLS_H

#include "base/ticks.h"
#include "run/core/race_event.h"

// ---- watchpoint ----------------------------------------------------------------------------------------

// Time from which the next breakpoint may be set, in ticks; UINT64_MAX: none. Written by the ticker, by the
// thread that sets one, and by the code that switches the assist off.
extern RB_HIDDEN uint64_t rb_watchpoints_next;

RB_INLINE bool rb_watchpoints_due(void)
{
    const uint64_t next = rb_load_relaxed(&rb_watchpoints_next);

    return RB_UNLIKELY(next != UINT64_MAX) && rb_arch_ticks() >= next;
}

// Sets a breakpoint on an access that the sampler has taken.
RB_HIDDEN void rb_watchpoints_arm(struct rb_self *me, const struct rb_memory_access *t, uintptr_t pc);
// Opens the breakpoints if watch= or the sampler wants them. The calling thread has them from now on, and
// so have all threads that it and its descendants make. Inside the guard, before the second thread.
RB_HIDDEN void rb_watchpoints_open(void);
// Adds the ticks that the sampler has earned since the last turn. `open`: it has some left.
RB_HIDDEN void rb_watchpoints_turn(int64_t earned, bool open);
// Gives up all breakpoints: tracking is paused, so no access is taken.
RB_HIDDEN void rb_watchpoints_pause(void);
RB_HIDDEN uint64_t rb_watchpoints_spent(void); // ticks
// Handles an access of a hook with the samplers that compare by traps alone (trap_races.c). Inside the
// guard, which it leaves.
RB_HIDDEN void rb_collide_access(struct rb_self *me, uintptr_t address, size_t size, unsigned how,
                                 uintptr_t pc);

// ---- intercept -----------------------------------------------------------------------------------------

// Takes SIGTRAP over for good, even if the program has blocked or handled it, or does so later. Inside the
// guard.
RB_HIDDEN bool rb_trap_take(void);
// Frees the signal stack of the calling thread, which ends, if the runtime made it.
RB_HIDDEN void rb_signal_stack_end(struct rb_self *me);
// Notes that the thread ends, inside the guard. The destructors of its thread-local objects have run; the
// loader keeps closed libraries for them.
RB_HIDDEN void rb_libraries_thread_ends(struct rb_self *me);

// ---- unseen --------------------------------------------------------------------------------------------

// A mark of each stack; NULL: there is no unseen library.
extern RB_HIDDEN uint8_t *rb_unseen_marks;
#define RB_UNSEEN_CLEAR 1u // no frame of the stack is in an unseen library

// Notes the modules that came with the program; at the start.
RB_HIDDEN void rb_unseen_init(void);
// Finds the unseen libraries and leads calls of them to stubs: before the second thread, or before system
// calls are filtered. Inside the guard.
RB_HIDDEN void rb_unseen_begin(struct rb_self *me);
// Does so again, if it was done: libraries came or went. Outside the guard, on the thread that opened or
// closed one.
RB_HIDDEN void rb_unseen_update(void);
// Puts back all slots and hooked code, at the end of tracking, unless they are being changed.
RB_HIDDEN void rb_unseen_finish(void);
// Notes a thread that is made, with the stack of its creation; NULL: it has no state.
RB_HIDDEN void rb_unseen_creates(struct rb_self *me, struct rb_self *child, rb_stack stack);
// Acquires the order of the libraries that pend. Called if me->unseen.pending is not 0, before an access is
// compared and before a release. Locks of objects may be held.
RB_HIDDEN void rb_unseen_settle(struct rb_self *me);
// Acquires the order of the libraries that have a frame in the stack.
RB_HIDDEN void rb_unseen_callback(struct rb_self *me, rb_stack stack);

RB_INLINE void rb_unseen_pass_stack(struct rb_self *me, rb_stack stack)
{
    if (RB_UNLIKELY(rb_unseen_marks) &&
        RB_UNLIKELY(rb_load_relaxed(&rb_unseen_marks[stack]) != RB_UNSEEN_CLEAR))
        rb_unseen_callback(me, stack);
}

// Atomic instructions of libraries that are not instrumented may be hooked: SIGTRAP is needed.
extern RB_HIDDEN bool rb_rmw_traps;
// Handles a SIGTRAP. Returns true if it came from a hook.
RB_HIDDEN bool rb_rmw_trap(const siginfo_t *info, void *context);

// A thread's place in a trampoline, and the place in the program's code that a handler is shown.
struct rb_rmw_place {
    uintptr_t pc, sp, shown_pc, shown_sp;
    bool in_cell;
};
RB_HIDDEN void rb_rmw_show_place(void *context, struct rb_rmw_place *place);
RB_HIDDEN void rb_rmw_hide_place(void *context, const struct rb_rmw_place *place);
// Makes all hooks work, before tracking begins; or leaves them out, after it is paused. Inside the guard.
RB_HIDDEN void rb_rmw_switch(bool on);
// Hooks nothing more, and takes out the hooks that need signals: system calls are about to be filtered.
RB_HIDDEN void rb_rmw_end_traps(void);

// ---- report --------------------------------------------------------------------------------------------

// Keeps a race the thread has just found, until rb_races_report is called without a lock held. Cheap when
// the pair of places is known already.
RB_HIDDEN void rb_race_found(struct rb_self *me, const struct rb_memory_access *now, uint64_t where,
                             const struct rb_hit *before);
RB_HIDDEN void rb_races_report_slow(struct rb_self *me);
// Set when a middle process of the reporter has ended and is to be reaped. The process writes it as its
// last step.
extern RB_HIDDEN uint32_t rb_reporter_left;

RB_INLINE void rb_races_report(struct rb_self *me)
{
    if (RB_UNLIKELY(me->found || rb_reporter_left))
        rb_races_report_slow(me);
}

RB_HIDDEN void rb_races_drop(struct rb_self *me); // and reports nothing
// Starts the process that makes reports, while that can still be done.
RB_HIDDEN void rb_reporter_prepare(void);
// Waits until all races found are reported, and returns their number.
RB_HIDDEN uint64_t rb_races_count(void);
// Ends the reporter if it is a child, before a wait that would see it. Inside the guard.
RB_HIDDEN void rb_races_pause(void);
extern RB_HIDDEN const char *rb_race_evidence; // how a race is known: docs/reference/reports.md

// ---- hooks ---------------------------------------------------------------------------------------------

// Returns true if the program has declared races at the address to be intended (annotations.c).
RB_HIDDEN bool rb_is_benign(uintptr_t address);
// C11 fences (atomics.c) are followed: from the first fence, or from the start.
extern RB_HIDDEN bool rb_fences_on;
RB_HIDDEN void rb_fences_free(struct rb_self *me, struct rb_self *t);

// ---- life ----------------------------------------------------------------------------------------------

// Starts the runtime; once. The environment is for when libc does not have it yet.
RB_HIDDEN void rb_init(char *const *environment);
// Makes exit wait for other threads, as atexit_sleep_ms says. Called before the first of them is made:
// objects that the program has registered by then are destroyed after the wait.
RB_HIDDEN void rb_watch_exit_to_wait(void);
RB_HIDDEN void rb_libraries_came(void); // perhaps
// Starts anew in the child of fork, for its one thread.
RB_HIDDEN void rb_init_after_fork(void);
// Returns false in a child of which the runtime was not told: its one thread is no parallel of its parent's.
RB_HIDDEN bool rb_is_our_process(void);
// Prints statistics, and returns the exit status to use instead of `status`.
RB_HIDDEN int rb_finish(int status);
// Ends the program now (halt_on_error).
RB_HIDDEN void rb_halt(void) __attribute__((noreturn));
// Prints statistics as the options ask (stats.c).
RB_HIDDEN void rb_stats_print(void);
// Appends the call sites and the looks at each to the file of looks=, if there is one (looks.c).
RB_HIDDEN void rb_looks_write(void);
// Prints a line, without an option, if the history had no room for some accesses.
RB_HIDDEN void rb_stats_say_dropped(void);

#endif
