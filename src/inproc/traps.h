// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The owner of SIGTRAP. Data breakpoints and int3s of ours come as this signal, and the program may use it for
// itself. Once it is taken, our handler stays installed. The program's action is kept here and returned to it.
//
// Invariant: the program cannot tell. A SIGTRAP that is not ours has its usual effect. If a mask blocks SIGTRAP, this is
// remembered for the thread (`hidden`), and the signal is taken out of the mask, so that traps get through.
//
// The host describes itself once by struct rb_trap_owner. It leads the program's requests here: sigaction for SIGTRAP,
// and each change of a thread's mask. A new thread inherits `hidden` from its creator.
#ifndef RB_INPROC_TRAPS_H
#define RB_INPROC_TRAPS_H

#include <signal.h>

#include "inproc/host.h"

// The layout of the system call rt_sigaction.
struct rb_kernel_action {
    void (*handler)(int, siginfo_t *, void *);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

// The functions run in the handler, with all signals blocked.
struct rb_trap_owner {
    // Handles a SIGTRAP of ours. Returns false if it is of other origin.
    bool (*trapped)(siginfo_t *info, void *context);
    // Handles another one: rb_traps_call, or work of the host's own around rb_traps_settle.
    void (*other)(int number, siginfo_t *info, void *context);
    // Returns true while traps of ours may come. Only then is SIGTRAP taken out of masks. NULL: always.
    bool (*needed)(void);
    // Learns the action that the program wants, before it is installed. NULL: not needed.
    void (*told)(const struct sigaction *action);
    // The host plants int3s, and one in a thread that has SIGTRAP blocked kills the process. Then handlers run
    // unblocked too, and a SIGTRAP sent while it is hidden waits in our memory. Else that goes back to the kernel,
    // and the thread has SIGTRAP blocked until its mask changes.
    bool never_blocked;
};

extern RB_HIDDEN bool rb_traps_taken; // written once before the second thread, and by rb_traps_give_back

// Returns the signal's bit in a set of 64, from signal 1; 0 for an invalid number.
RB_INLINE uint64_t rb_signal_bit(int number)
{
    return number > 0 && number < _NSIG ? UINT64_C(1) << (number - 1) : 0;
}

RB_INLINE bool rb_signal_has_handler(const struct sigaction *a)
{
    return a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN; // whether or not SA_SIGINFO is set
}

// Takes SIGTRAP, for good; `program` is the program's action so far. Returns false if that is not possible. A second
// call does nothing.
RB_HIDDEN bool rb_traps_take(const struct rb_trap_owner *owner, const struct sigaction *program);
// Gives SIGTRAP back to the program; the calling thread is the only one.
RB_HIDDEN void rb_traps_give_back(void);
// Returns true if the kernel calls our handler: the program has put none in its place past libc.
RB_HIDDEN bool rb_traps_installed(void);

// Settles a SIGTRAP of other origin. Returns false if the program's handler is to be called; its mask is set then.
RB_HIDDEN bool rb_traps_settle(siginfo_t *info, void *context);
// Does the same, and calls the program's handler.
RB_HIDDEN void rb_traps_call(int number, siginfo_t *info, void *context);
// Does the work of sigaction for SIGTRAP, once it is taken.
RB_HIDDEN int rb_traps_action(const struct sigaction *action, struct sigaction *old);

// Returns true if the program believes that this thread blocks SIGTRAP.
RB_HIDDEN bool rb_traps_hidden(void);
RB_HIDDEN void rb_traps_hide(bool hidden);
// Unblocks SIGTRAP, and remembers it as hidden if it was blocked.
RB_HIDDEN void rb_traps_unblock(void);
// Changes the thread's mask by a function of libc.
RB_HIDDEN int rb_traps_mask(int (*real)(int, const sigset_t *, sigset_t *), int how, const sigset_t *set,
                            sigset_t *old);
// Changes it by the program's syscall(SYS_rt_sigprocmask, ...).
RB_HIDDEN long rb_mask_by_number(long number, long how, const void *set, void *old, long size);

#endif
