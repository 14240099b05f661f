// Signal handlers of the program. Each is called through ours, which gives two things:
//   order   what happened before sigaction, and before whatever in this process made the kernel send the
//           signal (kill and its like, timers, descriptors, mprotect), happens before the handler;
//   guard   a signal that arrives inside the runtime's guard is sent to the thread again with all signals
//           blocked, so the kernel keeps it, with its siginfo, until rb_leave restores the mask: handlers
//           never run on top of half-done work. Faults (SIGSEGV and its like, raised by the instruction
//           itself) cannot wait and are passed through; one of an atomic operation that a hook performs ends
//           the guard first.
#ifndef RB_RUN_INTERCEPT_SIGNALS_SIGNALS_H
#define RB_RUN_INTERCEPT_SIGNALS_SIGNALS_H

#include "run/core/upcalls.h"

// Its bit in a set of 64, from signal 1; 0: there is none of that number.
RB_INLINE uint64_t rb_signal_bit(int number)
{
    return number > 0 && number < _NSIG ? UINT64_C(1) << (number - 1) : 0;
}

RB_HIDDEN uintptr_t rb_signal_object(int number); // an address of ours that stands for the signal
RB_HIDDEN void rb_signal_came(struct rb_self *me, int number); // SIGCHLD: or a child's end was seen
// A child is about to be made (outside the guard), or told something that may end it.
RB_HIDDEN void rb_before_child(void);
RB_HIDDEN void rb_after_child(void);                           // its end was seen; outside the guard
RB_HIDDEN void rb_signal_sent(struct rb_self *me, int number); // to a process, ours or another
RB_HIDDEN void rb_on_signal(int number, siginfo_t *info, void *context); // our handler of all of them
// A timer of timer_create was made; one is about to be set, `which` of setitimer or -1: one of those. Inside
// the guard.
RB_HIDDEN void rb_timer_made(const struct sigevent *event);
RB_HIDDEN void rb_timer_set(struct rb_self *me, int which);
// The event is how the kernel says that what is now asked for is done; it may be a signal. Inside the guard.
RB_HIDDEN void rb_event_asked(struct rb_self *me, const struct sigevent *event);
// Descriptors send the signal from now on: what is sent by one of them, whichever, is before its handler.
// And: something is. The second inside the guard.
extern RB_HIDDEN uint64_t rb_signals_of_fds;
RB_HIDDEN void rb_signal_by_fds(int number);
RB_HIDDEN void rb_event_by_fds(const struct sigevent *event);        // NULL: none
RB_HIDDEN void rb_signals_release(struct rb_self *me, uint64_t set); // a bit for each, from signal 1
// The program has asked for a handler; inside the guard or not.
RB_HIDDEN void rb_signal_told(int number, const struct sigaction *action);
// What sigaction does, for all that ask for a handler.
RB_HIDDEN int rb_signal_action(int number, const struct sigaction *action, struct sigaction *old);
// One has come inside the guard: it comes again when the guard is left.
RB_HIDDEN void rb_signal_defer(struct rb_self *me, int number, siginfo_t *info, void *context);
// Of what the kernel has, what the program asked for.
RB_HIDDEN void rb_signal_asked(int number, struct sigaction *action);

// ---- signals_queue.c: signals that go back to the kernel -----------------------------------------------

// Sends the signal to this thread once more, with its contents. Nobody's `me` is NULL.
RB_HIDDEN void rb_signal_again(struct rb_self *me, int number, siginfo_t *info);
// The same for one that has come inside the guard: a real-time signal keeps its place in the order.
RB_HIDDEN void rb_signal_keep(struct rb_self *me, int number, siginfo_t *info);
// Exchanges the contents of a signal that has come outside the guard for the oldest kept. Returns false if
// there is nothing to deliver.
RB_HIDDEN bool rb_signal_oldest(struct rb_self *me, int number, siginfo_t *info);
// Forgets what is kept of signals that are not in `mask`, the thread's: all of them have been delivered.
// Something else has taken their tokens (signalfd in a handler, SIG_IGN).
RB_HIDDEN void rb_signal_forget(struct rb_self *me, const sigset_t *mask);

RB_INLINE bool rb_signal_has_handler(const struct sigaction *a)
{
    return a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN; // whatever SA_SIGINFO says
}

// ---- signals_trap.c: SIGTRAP, while watchpoints need it ------------------------------------------------

extern RB_HIDDEN bool rb_trap_taken;
// One has come. True: dealt with. It may be a watchpoint's, inside the guard or not; if it is not, outside
// the guard: false: it is for the program's handler, and its mask is set.
RB_HIDDEN bool rb_trap_of_watchpoint(siginfo_t *info, void *context);
RB_HIDDEN bool rb_trap_arrived(siginfo_t *info, void *context);
// What the program asks of sigaction, once it is taken.
RB_HIDDEN int rb_trap_action(const struct sigaction *action, struct sigaction *old);
// What a new thread has of its creator's mask: does the program think that SIGTRAP is blocked in it?
RB_HIDDEN bool rb_trap_hidden(void);
RB_HIDDEN void rb_trap_hide(bool hidden);
// The program's mask may have it, as a handler's may that is about to run: what blocks it is taken out.
RB_HIDDEN void rb_trap_unblock(void);
// What sigprocmask does.
RB_HIDDEN int rb_signal_mask(int how, const sigset_t *set, sigset_t *old);

#endif
