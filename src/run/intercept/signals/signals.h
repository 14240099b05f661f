// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Signal handlers of the program. Each is called by a handler of the runtime, which adds two things:
//   order   Events before sigaction come before the handler. So do events before the call in this process
//           that made the kernel send the signal: kill and the like, timers, descriptors, mprotect.
//   guard   A signal that arrives inside the runtime's guard is sent to the thread again with all signals
//           blocked. The kernel keeps it, with its siginfo, until rb_leave restores the mask. So handlers
//           never interrupt half-done work. Faults (SIGSEGV and the like, raised by the instruction itself)
//           cannot be deferred and are passed through. A fault of an atomic operation inside a hook ends
//           the guard first.
#ifndef RB_RUN_INTERCEPT_SIGNALS_SIGNALS_H
#define RB_RUN_INTERCEPT_SIGNALS_SIGNALS_H

#include "inproc/traps.h"
#include "run/core/upcalls.h"

RB_HIDDEN uintptr_t rb_signal_object(int number); // an address of ours that stands for the signal
RB_HIDDEN void rb_signal_came(struct rb_self *me, int number); // SIGCHLD: or the end of a child was seen
// Called before a child is made, or is told something that may end it. Outside the guard.
RB_HIDDEN void rb_before_child(void);
RB_HIDDEN void rb_after_child(void);                           // its end was seen; outside the guard
RB_HIDDEN void rb_signal_sent(struct rb_self *me, int number); // to a process, ours or another
RB_HIDDEN void rb_on_signal(int number, siginfo_t *info,
                            void *context); // our handler; behind rb_traps_* for SIGTRAP
// rb_timer_made: timer_create has made a timer. rb_timer_set: a timer is about to be set, by setitimer
// (`which`) or timer_settime (-1). Inside the guard.
RB_HIDDEN void rb_timer_made(const struct sigevent *event);
RB_HIDDEN void rb_timer_set(struct rb_self *me, int which);
// The event announces the end of the work that is requested now; it may be a signal. Inside the guard.
RB_HIDDEN void rb_event_asked(struct rb_self *me, const struct sigevent *event);
// From now on descriptors send the signal: a release to any descriptor comes before its handler.
// rb_signals_release releases to a set of signals, inside the guard.
extern RB_HIDDEN uint64_t rb_signals_of_fds;
RB_HIDDEN void rb_signal_by_fds(int number);
RB_HIDDEN void rb_event_by_fds(const struct sigevent *event);        // NULL: there is none
RB_HIDDEN void rb_signals_release(struct rb_self *me, uint64_t set); // a bit for each, from signal 1
// The program has asked for a handler. Inside the guard or outside.
RB_HIDDEN void rb_signal_told(int number, const struct sigaction *action);
// Does the work of sigaction, for all functions that install a handler.
RB_HIDDEN int rb_signal_action(int number, const struct sigaction *action, struct sigaction *old);
// Defers a signal that has come inside the guard: it comes again when the guard is left.
RB_HIDDEN void rb_signal_defer(struct rb_self *me, int number, siginfo_t *info, void *context);
// Rewrites our handler to the program's in `*action`, as got from the kernel.
RB_HIDDEN void rb_signal_asked(int number, struct sigaction *action);

// ---- signals_queue.c: signals that go back to the kernel -----------------------------------------------

// Sends the signal to this thread once more, with its contents. `me` is NULL for a thread without a state.
RB_HIDDEN void rb_signal_again(struct rb_self *me, int number, siginfo_t *info);
// The same for a signal that came inside the guard: a real-time signal keeps its place in the order.
RB_HIDDEN void rb_signal_keep(struct rb_self *me, int number, siginfo_t *info);
// Exchanges the contents of a signal that has come outside the guard for the oldest kept. Returns false if
// there is nothing to deliver.
RB_HIDDEN bool rb_signal_oldest(struct rb_self *me, int number, siginfo_t *info);
// Forgets the kept contents of signals that are not in `mask`, the thread's: all of them have been
// delivered. Their tokens were taken by signalfd in a handler, or by SIG_IGN.
RB_HIDDEN void rb_signal_forget(struct rb_self *me, const sigset_t *mask);

// ---- signals_trap.c ------------------------------------------------------------------------------------

// Does the work of sigprocmask.
RB_HIDDEN int rb_signal_mask(int how, const sigset_t *set, sigset_t *old);

#endif
