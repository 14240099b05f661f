// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SIGTRAP, which watchpoints need and the program may use for itself. Once it is taken our handler stays
// installed. The program's action is kept here and returned to the program.
//
// Invariant: the program cannot tell. A SIGTRAP that is not a watchpoint's has its usual
// effect. If a mask, also a handler's, blocks SIGTRAP, this is remembered and the signal is
// taken out of the mask, so that traps get through. A SIGTRAP of other origin is blocked when
// it comes, and goes back into the kernel's queue.
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "run/intercept/intercept.h"
#include "run/intercept/signals/signals.h"
#include "run/watchpoint/watchpoints.h"

bool rb_trap_taken;             // written once, before the second thread
static struct sigaction wanted; // by the program; as with sigaction, one thread at a time changes it
static RB_TLS bool trap_hidden; // the program's mask blocks it

static void set_handler_mask(const ucontext_t *context)
{
    const uint64_t bit = rb_signal_bit(SIGTRAP);
    uint64_t mask, more;

    __builtin_memcpy(&mask, &context->uc_sigmask, sizeof(mask));
    __builtin_memcpy(&more, &wanted.sa_mask, sizeof(more));
    mask |= more | (wanted.sa_flags & SA_NODEFER ? 0 : bit);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
}

// Handles a SIGTRAP of other origin. Returns true if it was handled: the
// program has no handler, or blocks the signal.
static bool handle_stray(siginfo_t *info, ucontext_t *context)
{
    if (trap_hidden && info->si_code <= 0) {
        trap_hidden = false;
        sigaddset(&context->uc_sigmask, SIGTRAP);
        if (info->si_code == SI_TKILL)
            syscall(SYS_rt_tgsigqueueinfo, getpid(), (pid_t)syscall(SYS_gettid), SIGTRAP, info);
        else
            syscall(SYS_rt_sigqueueinfo, getpid(), SIGTRAP, info);
        return true;
    }
    if (rb_signal_has_handler(&wanted)) {
        set_handler_mask(context);
        if (wanted.sa_flags & SA_RESETHAND)
            wanted = (struct sigaction){.sa_handler = SIG_DFL};
        return false;
    }
    if (wanted.sa_handler == SIG_IGN && info->si_code <= 0)
        return true;
    const struct sigaction standard = {.sa_handler = SIG_DFL}; // it comes again after the return
    RB_REAL(sigaction)(SIGTRAP, &standard, NULL);
    syscall(SYS_rt_tgsigqueueinfo, getpid(), (pid_t)syscall(SYS_gettid), SIGTRAP, info);
    return true;
}

bool rb_trap_of_watchpoint(siginfo_t *info, void *context)
{
    return rb_trap_taken && rb_watchpoints_trap(info, context);
}

bool rb_trap_arrived(siginfo_t *info, void *context)
{
    return rb_trap_taken && handle_stray(info, context);
}

// All signals are blocked while a trap is handled. Else a handler of the program on top of ours would run
// with SIGTRAP blocked and hit the watchpoint again and again. A frequent timer could keep us from removing
// the watchpoint for ever. The program's own handler gets its own mask (set_handler_mask).
static int install_trap(void)
{
    struct sigaction mine = {.sa_sigaction = rb_on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};

    sigfillset(&mine.sa_mask);
    if (rb_signal_has_handler(&wanted))
        mine.sa_flags = (wanted.sa_flags & (SA_RESTART | SA_ONSTACK)) | SA_SIGINFO;
    return RB_REAL(sigaction)(SIGTRAP, &mine, NULL);
}

int rb_trap_action(const struct sigaction *action, struct sigaction *old)
{
    const struct sigaction before = wanted;

    if (action) {
        rb_signal_told(SIGTRAP, action);
        wanted = *action;
        const int r = install_trap();
        if (r)
            return r;
    }
    if (old)
        *old = before;
    return 0;
}

bool rb_trap_take(void)
{
    const uint64_t bit = rb_signal_bit(SIGTRAP);
    uint64_t blocked = 0;

    if (rb_trap_taken)
        return true;
    if (RB_REAL(sigaction)(SIGTRAP, NULL, &wanted))
        return false;
    rb_signal_asked(SIGTRAP, &wanted);
    rb_signal_told(SIGTRAP, &wanted);
    rb_trap_taken = true;
    if (install_trap()) {
        rb_trap_taken = false;
        return false;
    }
    syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &bit, &blocked, 8);
    trap_hidden = (blocked & bit) != 0;
    return true;
}

bool rb_trap_hidden(void)
{
    return trap_hidden;
}

void rb_trap_hide(bool hidden)
{
    trap_hidden = hidden;
}

// ---- masks: the kernel changes the program's mask, then SIGTRAP is taken out of it again ---------------

static void show_mask(void)
{
    const uint64_t bit = rb_signal_bit(SIGTRAP);

    if (!trap_hidden)
        return;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &bit, NULL, 8);
    trap_hidden = false;
}

void rb_trap_unblock(void)
{
    const uint64_t bit = rb_signal_bit(SIGTRAP);
    uint64_t blocked = 0;

    if (!rb_trap_taken || !rb_watchpoints_on())
        return;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &blocked, 8);
    if (!(blocked & bit))
        return;
    trap_hidden = true; // first: a pending one comes now, and goes back
    syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &bit, NULL, 8);
}

static int change_mask(int (*real)(int, const sigset_t *, sigset_t *), int how, const sigset_t *set,
                       sigset_t *old)
{
    show_mask();
    const int r = real(how, set, old);
    rb_trap_unblock();
    return r;
}

int rb_signal_mask(int how, const sigset_t *set, sigset_t *old)
{
    return change_mask(RB_REAL(sigprocmask), how, set, old);
}

RB_INTERCEPT(int, pthread_sigmask, (int how, const sigset_t *set, sigset_t *old))
{
    return change_mask(RB_REAL(pthread_sigmask), how, set, old);
}

RB_INTERCEPT(int, sigprocmask, (int how, const sigset_t *set, sigset_t *old))
{
    return rb_signal_mask(how, set, old);
}

// The program's syscall(SYS_rt_sigprocmask, ...): arch_syscall_*.S.
RB_HIDDEN long rb_mask_by_number(long number, long how, const void *set, void *old, long size);
long rb_mask_by_number(long number, long how, const void *set, void *old, long size)
{
    show_mask();
    const long r = syscall(number, how, set, old, size);
    rb_trap_unblock();
    return r;
}
