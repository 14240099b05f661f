#include "rt/signals.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "rt/descriptors.h"
#include "rt/intercept.h"
#include "rt/sync.h"

#define SIGNALS 65

struct handler {
    void (*function)(int, siginfo_t *, void *); // as given, with or without the further arguments
    bool siginfo;
};
static struct handler handlers[SIGNALS]; // words written whole: a handler sees the old or the new one
static char objects[SIGNALS];

uintptr_t rb_signal_object(int number)
{
    return (uintptr_t)&objects[number > 0 && number < SIGNALS ? number : 0];
}

void rb_signal_came(struct rb_self *me, int number)
{
    rb_on_acquire(me, rb_signal_object(number));
    rb_fd_acquire_others(me);
}

void rb_tell_children(struct rb_self *me)
{
    rb_on_release(me, rb_signal_object(SIGCHLD));
    rb_fd_release_others(me);
}

void rb_before_child(void)
{
    RB_BESIDE(rb_fd_child(), rb_tell_children(me));
}

void rb_after_child(void)
{
    RB_BESIDE((void)0, rb_signal_came(me, SIGCHLD));
}

// ---- timers: which of them sends a signal is not kept, only which signals they send --------------------

static uint64_t timer_signals; // a bit for each, from signal 1 to the last, 64

void rb_timer_made(const struct sigevent *event)
{
    const bool sends =
        !event || event->sigev_notify == SIGEV_SIGNAL || event->sigev_notify == SIGEV_THREAD_ID;
    const int number = event ? event->sigev_signo : SIGALRM;

    if (sends && number > 0 && number < SIGNALS)
        __atomic_fetch_or(&timer_signals, UINT64_C(1) << (number - 1), __ATOMIC_RELAXED);
}

void rb_timer_set(struct rb_self *me, int which)
{
    static const int sends[] = {
        [ITIMER_REAL] = SIGALRM, [ITIMER_VIRTUAL] = SIGVTALRM, [ITIMER_PROF] = SIGPROF};

    if (which >= 0 && which < (int)RB_LENGTH(sends))
        rb_on_release(me, rb_signal_object(sends[which]));
    for (uint64_t left = which < 0 ? __atomic_load_n(&timer_signals, __ATOMIC_RELAXED) : 0; left;
         left &= left - 1)
        rb_on_release(me, rb_signal_object(__builtin_ctzll(left) + 1));
}

static bool is_fault(int number, const siginfo_t *info)
{
    if (number != SIGSEGV && number != SIGBUS && number != SIGFPE && number != SIGILL && number != SIGTRAP &&
        number != SIGSYS)
        return false;
    return info->si_code > 0; // by the kernel, for this instruction
}

// Blocks everything in the interrupted context and hands the signal back to the kernel, which keeps it until
// the mask is restored.
static void defer(struct rb_self *me, int number, siginfo_t *info, ucontext_t *context)
{
    if (!me->deferred)
        me->deferred_mask = context->uc_sigmask;
    me->deferred = 1;
    sigfillset(&context->uc_sigmask);
    sigdelset(&context->uc_sigmask, SIGSEGV);
    sigdelset(&context->uc_sigmask, SIGBUS);
    sigdelset(&context->uc_sigmask, SIGFPE);
    sigdelset(&context->uc_sigmask, SIGILL);
    sigdelset(&context->uc_sigmask, SIGTRAP);
    syscall(SYS_rt_tgsigqueueinfo, getpid(), (pid_t)syscall(SYS_gettid), number, info);
}

void rb_deliver_deferred(struct rb_self *me)
{
    const int saved = errno;
    const sigset_t mask = me->deferred_mask;

    me->deferred = 0;
    __asm__ volatile("" ::: "memory");
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
    errno = saved;
}

void rb_on_signal(int number, siginfo_t *info, void *context)
{
    const int saved = errno;
    struct rb_self *me = rb_self_tls;

    if (number == SIGTRAP && rb_trap_arrived(info, context)) {
        errno = saved;
        return;
    }
    if (me && me->busy && !is_fault(number, info)) {
        defer(me, number, info, context);
        errno = saved;
        return;
    }
    const struct handler h = handlers[number];
    if ((me = rb_enter()) != NULL) {
        rb_signal_came(me, number);
        rb_leave(me);
    }
    errno = saved;
    if (h.siginfo)
        h.function(number, info, context);
    else
        ((void (*)(int))(void (*)(void))h.function)(number);
}

static bool is_ours(const struct sigaction *a)
{
    return (a->sa_flags & SA_SIGINFO) && a->sa_sigaction == rb_on_signal;
}

void rb_signal_told(int number, const struct sigaction *action)
{
    struct rb_self *me = rb_enter();

    if (me) {
        rb_on_release(me, rb_signal_object(number));
        rb_leave(me);
    }
    handlers[number] = (struct handler){action->sa_sigaction, (action->sa_flags & SA_SIGINFO) != 0};
}

void rb_signal_asked(int number, struct sigaction *action)
{
    if (!is_ours(action))
        return;
    action->sa_sigaction = handlers[number].function;
    if (!handlers[number].siginfo)
        action->sa_flags &= ~SA_SIGINFO;
}

RB_INTERCEPT(int, sigaction, (int number, const struct sigaction *action, struct sigaction *old))
{
    struct sigaction mine, before;

    if (number <= 0 || number >= SIGNALS || !rb_process.on)
        return RB_REAL(sigaction)(number, action, old);
    if (number == SIGTRAP && rb_trap_taken)
        return rb_trap_action(action, old);
    const struct handler previous = handlers[number];
    if (action && rb_signal_has_handler(action)) {
        mine = *action;
        mine.sa_sigaction = rb_on_signal;
        mine.sa_flags |= SA_SIGINFO;
        rb_signal_told(number, action);
        action = &mine;
    }
    const int r = RB_REAL(sigaction)(number, action, &before);
    if (r && action == &mine)
        handlers[number] = previous;
    else if (r == 0 && action && action != &mine)
        handlers[number] = (struct handler){NULL, false};
    if (r == 0 && old) {
        *old = before;
        if (is_ours(&before))
            old->sa_sigaction = previous.function;
        if (previous.function && !previous.siginfo) // also when SA_RESETHAND has reset it
            old->sa_flags &= ~SA_SIGINFO;
    }
    return r;
}

RB_INTERCEPT(sighandler_t, signal, (int number, sighandler_t handler))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;

    if (handler == SIG_ERR || number <= 0 || number >= SIGNALS) {
        errno = EINVAL;
        return SIG_ERR;
    }
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, number);
#if defined(RB_STATIC)
    if (__wrap_sigaction(number, &action, &old))
#else
    if (sigaction(number, &action, &old))
#endif
        return SIG_ERR;
    return (old.sa_flags & SA_SIGINFO) ? (sighandler_t)(void (*)(void))old.sa_sigaction : old.sa_handler;
}
