// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SIGTRAP, which the agent needs and the program may use itself.
//
// An int3 kills the process if the thread has SIGTRAP blocked: the kernel forces the signal. So once the
// agent has SIGTRAP, it is blocked in no thread that runs code of the program. The program's requests are
// kept and returned to it: masks, the masks of its handlers, and the masks that a system call sets for its
// duration. (A handler that ends such a wait runs with that mask.) docs/explanation/watch.md, "Masks", has the
// remaining differences.
//
// A SIGTRAP that is not ours has its usual effect. One that was sent while the program has it blocked waits
// here until it is unblocked.
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/ticks.h"
#include "watch/agent/agent.h"

#define SIGNALS  65
#define LONGEST  500000u // most ticks of a trap; above, the thread was not on a core
#define PATIENCE 5000    // milliseconds
#define BIT      ((uint64_t)1 << (SIGTRAP - 1))

static bool taken;
static struct sigaction wanted;  // the program's for SIGTRAP; changed by one thread at a time, as sigaction's
static bool masks_trap[SIGNALS]; // the program wants SIGTRAP blocked in this signal's handler
static RB_TLS bool hidden;       // the program believes that SIGTRAP is blocked
static RB_TLS bool waiting;      // and one has come
static RB_TLS siginfo_t waiting_is;
static uint32_t looking; // threads that handle a trap of ours

bool rb_agent_trap_hidden(void)
{
    return hidden;
}

static bool has_handler(const struct sigaction *a)
{
    return a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN;
}

// ---- a trap --------------------------------------------------------------------------------------------

static void call_program(siginfo_t *info, ucontext_t *context)
{
    const struct sigaction a = wanted;
    uint64_t mask, more;

    __builtin_memcpy(&mask, &context->uc_sigmask, sizeof(mask));
    __builtin_memcpy(&more, &a.sa_mask, sizeof(more));
    mask = (mask | more) & ~BIT;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8L);
    if (a.sa_flags & SA_RESETHAND)
        wanted = (struct sigaction){.sa_handler = SIG_DFL};
    if (a.sa_flags & SA_SIGINFO)
        a.sa_sigaction(SIGTRAP, info, context);
    else
        a.sa_handler(SIGTRAP);
}

static void handle_stray(siginfo_t *info, ucontext_t *context)
{
    if (hidden && info->si_code <= 0) {
        waiting = true;
        waiting_is = *info;
        return;
    }
    if (!hidden && has_handler(&wanted)) {
        call_program(info, context);
        return;
    }
    if (wanted.sa_handler == SIG_IGN && info->si_code <= 0)
        return;
    const struct sigaction standard = {.sa_handler = SIG_DFL}; // it comes again when we return
    RB_NEXT(sigaction)(SIGTRAP, &standard, NULL);
    syscall(SYS_rt_tgsigqueueinfo, syscall(SYS_getpid), syscall(SYS_gettid), (long)SIGTRAP, info);
}

static void on_trap(int number, siginfo_t *info, void *context)
{
    const int saved = errno;
    const uint64_t start = rb_arch_ticks();
    const struct rb_breakpoint_hit hit = rb_breakpoint_hit(info, context);

    (void)number;
    rb_stood = 0;
    rb_fetch_add_seq_cst(&looking, 1);
    if (hit.number < RB_BREAKPOINTS)
        rb_sample_hit(&hit, context);
    const bool ours =
        hit.number != RB_BREAKPOINT_NONE || (info->si_code == SI_KERNEL && rb_sample_int3(context));
    rb_fetch_sub_seq_cst(&looking, 1);
    if (!ours)
        handle_stray(info, context);
    const uint64_t ticks = rb_arch_ticks() - start - rb_stood;
    rb_agent_pay((ticks < LONGEST ? ticks : LONGEST) + rb_breakpoints.trap_ticks);
    errno = saved;
}

// Waits before system calls are filtered: a thread that handles a trap makes its own before. A later thread
// makes none.
void rb_trap_drain(void)
{
    const struct timespec pause = {0, 1000000};

    for (unsigned i = 0; i < PATIENCE && rb_load_seq_cst(&looking); i++)
        syscall(SYS_clock_nanosleep, (long)CLOCK_MONOTONIC, 0L, &pause, NULL);
}

// ---- taking it -----------------------------------------------------------------------------------------

// Installs our handler. All signals are blocked while a trap is handled; call_program sets the mask of the
// program's own handler.
static int install_handler(void)
{
    struct sigaction mine = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_RESTART};

    sigfillset(&mine.sa_mask);
    if (has_handler(&wanted))
        mine.sa_flags = (wanted.sa_flags & (SA_RESTART | SA_ONSTACK)) | SA_SIGINFO;
    return RB_NEXT(sigaction)(SIGTRAP, &mine, NULL);
}

// Takes SIGTRAP out of the masks of handlers installed before.
static void strip_handlers(void)
{
    struct sigaction a;

    for (int i = 1; i < SIGNALS; i++)
        if (i != SIGTRAP && i != SIGKILL && i != SIGSTOP && RB_NEXT(sigaction)(i, NULL, &a) == 0 &&
            has_handler(&a) && sigismember(&a.sa_mask, SIGTRAP) == 1) {
            masks_trap[i] = true;
            sigdelset(&a.sa_mask, SIGTRAP);
            RB_NEXT(sigaction)(i, &a, NULL);
        }
}

void rb_trap_begin(bool was_hidden)
{
    const uint64_t bit = BIT;
    uint64_t before = 0;

    hidden = was_hidden;
    if (!rb_load_relaxed(&taken))
        return;
    syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &bit, &before, 8L);
    if (before & BIT)
        hidden = true;
}

bool rb_agent_trap_take(void)
{
    if (taken)
        return true;
    if (RB_NEXT(sigaction)(SIGTRAP, NULL, &wanted))
        return false;
    rb_store_seq_cst(&taken, true);
    if (install_handler()) {
        rb_store_seq_cst(&taken, false);
        return false;
    }
    strip_handlers();
    rb_trap_begin(hidden);
    return true;
}

// Gives SIGTRAP back. The calling thread is the only one.
void rb_trap_refused(void)
{
    const uint64_t bit = BIT;

    if (!taken)
        return;
    rb_store_seq_cst(&taken, false);
    RB_NEXT(sigaction)(SIGTRAP, &wanted, NULL);
    if (hidden)
        syscall(SYS_rt_sigprocmask, SIG_BLOCK, &bit, NULL, 8L);
    hidden = false;
}

bool rb_trap_is_ours(void)
{
    struct {
        void (*handler)(int, siginfo_t *, void *);
        unsigned long flags, restorer, mask;
    } now;

    return syscall(SYS_rt_sigaction, (long)SIGTRAP, NULL, &now, 8L) == 0 && now.handler == on_trap;
}

// ---- requests of the program ---------------------------------------------------------------------------

RB_EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    struct sigaction mine;

    rb_agent_bump();
    if (!taken || number <= 0 || number >= SIGNALS)
        return RB_NEXT(sigaction)(number, action, old);
    if (number == SIGTRAP) {
        const struct sigaction before = wanted;
        if (action) {
            wanted = *action;
            const int r = install_handler();
            if (r)
                return r;
        }
        if (old)
            *old = before;
        return 0;
    }
    const bool before = masks_trap[number];
    if (action) {
        mine = *action;
        masks_trap[number] = sigismember(&mine.sa_mask, SIGTRAP) == 1;
        sigdelset(&mine.sa_mask, SIGTRAP);
        action = &mine;
    }
    const int r = RB_NEXT(sigaction)(number, action, old);
    if (r)
        masks_trap[number] = before;
    else if (old && before)
        sigaddset(&old->sa_mask, SIGTRAP);
    return r;
}

static sighandler_t set_handler(sighandler_t (*real)(int, sighandler_t), int number, sighandler_t handler,
                                int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, old;

    rb_agent_bump();
    if (!taken || number != SIGTRAP)
        return real(number, handler);
    if (handler == SIG_ERR) {
        errno = EINVAL;
        return SIG_ERR;
    }
    sigemptyset(&action.sa_mask);
    if (sigaction(number, &action, &old))
        return SIG_ERR;
    return old.sa_flags & SA_SIGINFO ? (sighandler_t)(void (*)(void))old.sa_sigaction : old.sa_handler;
}

RB_EXPORT sighandler_t signal(int number, sighandler_t handler)
{
    return set_handler(RB_NEXT(signal), number, handler, SA_RESTART);
}

RB_EXPORT sighandler_t ssignal(int number, sighandler_t handler)
{
    return set_handler(RB_NEXT(ssignal), number, handler, SA_RESTART);
}

RB_EXPORT sighandler_t sysv_signal(int number, sighandler_t handler)
{
    return set_handler(RB_NEXT(sysv_signal), number, handler, (int)SA_RESETHAND | SA_NODEFER);
}

RB_EXPORT sighandler_t __sysv_signal(int number, sighandler_t handler)
{
    return set_handler(RB_NEXT(__sysv_signal), number, handler, (int)SA_RESETHAND | SA_NODEFER);
}

// ---- masks ---------------------------------------------------------------------------------------------

static void deliver_waiting(void)
{
    if (!waiting || hidden)
        return;
    waiting = false;
    syscall(SYS_rt_tgsigqueueinfo, syscall(SYS_getpid), syscall(SYS_gettid), (long)SIGTRAP, &waiting_is);
}

// Blocks SIGTRAP if the program believes so: the kernel changes that mask, and hide_mask takes SIGTRAP out
// again.
static void show_mask(void)
{
    const uint64_t bit = BIT;

    if (taken && hidden)
        syscall(SYS_rt_sigprocmask, SIG_BLOCK, &bit, NULL, 8L);
}

static void hide_mask(void)
{
    const uint64_t bit = BIT;
    uint64_t blocked = 0;

    if (!taken)
        return;
    syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &bit, &blocked, 8L);
    hidden = blocked & BIT;
    deliver_waiting();
}

static int change_mask(int (*real)(int, const sigset_t *, sigset_t *), int how, const sigset_t *set,
                       sigset_t *old)
{
    rb_agent_bump();
    show_mask();
    const int r = real(how, set, old);
    hide_mask();
    return r;
}

long rb_trap_mask_by_number(long how, long set, long old, long size)
{
    show_mask();
    const long r = syscall(SYS_rt_sigprocmask, how, set, old, size);
    hide_mask();
    return r;
}

RB_EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    return change_mask(RB_NEXT(pthread_sigmask), how, set, old);
}

RB_EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    return change_mask(RB_NEXT(sigprocmask), how, set, old);
}

// Implements the old functions of BSD and System V by the new one.
static int old_mask(int how, int bits)
{
    sigset_t set, before;
    int was = 0;

    sigemptyset(&set);
    for (int i = 1; i < 32; i++)
        if ((unsigned)bits >> (i - 1) & 1)
            sigaddset(&set, i);
    sigprocmask(how, &set, &before);
    for (int i = 1; i < 32; i++)
        was |= sigismember(&before, i) == 1 ? 1 << (i - 1) : 0;
    return was;
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

RB_EXPORT int sigblock(int bits)
{
    return old_mask(SIG_BLOCK, bits);
}

RB_EXPORT int sigsetmask(int bits)
{
    return old_mask(SIG_SETMASK, bits);
}

static int mask_one(int how, int number)
{
    sigset_t set;

    sigemptyset(&set);
    if (sigaddset(&set, number))
        return -1;
    return sigprocmask(how, &set, NULL);
}

RB_EXPORT int sighold(int number)
{
    return mask_one(SIG_BLOCK, number);
}

RB_EXPORT int sigrelse(int number)
{
    return mask_one(SIG_UNBLOCK, number);
}

RB_EXPORT sighandler_t sigset(int number, sighandler_t handler)
{
    if (!taken || number != SIGTRAP)
        return RB_NEXT(sigset)(number, handler);
    const bool was = hidden;
    if (handler == SIG_HOLD)
        mask_one(SIG_BLOCK, number);
    sighandler_t before = handler == SIG_HOLD ? wanted.sa_handler : set_handler(NULL, number, handler, 0);
    if (handler != SIG_HOLD)
        mask_one(SIG_UNBLOCK, number);
    return was ? SIG_HOLD : before;
}

// ---- masks for the time of a call ----------------------------------------------------------------------

// Copies the set without SIGTRAP to *mine; NULL stays.
static const sigset_t *remove_trap(const sigset_t *set, sigset_t *mine)
{
    rb_agent_bump();
    if (!set || !taken)
        return set;
    *mine = *set;
    sigdelset(mine, SIGTRAP);
    return mine;
}

RB_EXPORT int sigsuspend(const sigset_t *set)
{
    sigset_t mine;

    return RB_NEXT(sigsuspend)(remove_trap(set, &mine));
}

RB_EXPORT int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *most, const sigset_t *set)
{
    sigset_t mine;

    return RB_NEXT(ppoll)(fds, count, most, remove_trap(set, &mine));
}

RB_EXPORT int pselect(int count, fd_set *in, fd_set *out, fd_set *except, const struct timespec *most,
                      const sigset_t *set)
{
    sigset_t mine;

    return RB_NEXT(pselect)(count, in, out, except, most, remove_trap(set, &mine));
}

RB_EXPORT int epoll_pwait(int fd, struct epoll_event *events, int count, int most, const sigset_t *set)
{
    sigset_t mine;

    return RB_NEXT(epoll_pwait)(fd, events, count, most, remove_trap(set, &mine));
}

RB_EXPORT int epoll_pwait2(int fd, struct epoll_event *events, int count, const struct timespec *most,
                           const sigset_t *set)
{
    sigset_t mine;

    return RB_NEXT(epoll_pwait2)(fd, events, count, most, remove_trap(set, &mine));
}
