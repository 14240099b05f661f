// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SIGTRAP, which the agent needs and the program may use itself (inproc/traps.h).
//
// An int3 kills the process if the thread has SIGTRAP blocked: the kernel forces the signal. So once the
// agent has SIGTRAP, it is blocked in no thread that runs code of the program. The program's requests are
// kept and returned to it: masks, the masks of its handlers, and the masks that a system call sets for its
// duration. (A handler that ends such a wait runs with that mask.) docs/explanation/watch.md, "Masks", has the
// remaining differences.
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

static bool masks_trap[SIGNALS]; // the program wants SIGTRAP blocked in this signal's handler
static uint32_t looking;         // threads that handle a trap of ours

// ---- a trap --------------------------------------------------------------------------------------------

static bool handle_trap(siginfo_t *info, void *context)
{
    const uint64_t start = rb_arch_ticks();
    const struct rb_breakpoint_hit hit = rb_breakpoint_hit(info, context);

    rb_stood = 0;
    rb_fetch_add_seq_cst(&looking, 1);
    if (hit.number < RB_BREAKPOINTS)
        rb_sample_hit(&hit, context);
    const bool ours =
        hit.number != RB_BREAKPOINT_NONE || (info->si_code == SI_KERNEL && rb_sample_int3(context));
    rb_fetch_sub_seq_cst(&looking, 1);
    const uint64_t ticks = rb_arch_ticks() - start - rb_stood;
    rb_agent_pay((ticks < LONGEST ? ticks : LONGEST) + rb_breakpoints.trap_ticks);
    return ours;
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

// Takes SIGTRAP out of the masks of handlers installed before.
static void strip_handlers(void)
{
    struct sigaction a;

    for (int i = 1; i < SIGNALS; i++)
        if (i != SIGTRAP && i != SIGKILL && i != SIGSTOP && rb_host.sigaction(i, NULL, &a) == 0 &&
            rb_signal_has_handler(&a) && sigismember(&a.sa_mask, SIGTRAP) == 1) {
            masks_trap[i] = true;
            sigdelset(&a.sa_mask, SIGTRAP);
            rb_host.sigaction(i, &a, NULL);
        }
}

bool rb_agent_trap_take(void)
{
    static const struct rb_trap_owner owner = {.trapped = handle_trap,
                                               .other = rb_traps_call,
                                               .never_blocked = true};
    struct sigaction program;

    if (rb_traps_taken)
        return true;
    rb_host.sigaction = RB_NEXT(sigaction);
    if (rb_host.sigaction(SIGTRAP, NULL, &program) || !rb_traps_take(&owner, &program))
        return false;
    strip_handlers();
    return true;
}

// ---- requests of the program ---------------------------------------------------------------------------

RB_EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    struct sigaction mine;

    rb_agent_bump();
    if (!rb_traps_taken || number <= 0 || number >= SIGNALS)
        return RB_NEXT(sigaction)(number, action, old);
    if (number == SIGTRAP)
        return rb_traps_action(action, old);
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

RB_EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    rb_agent_bump();
    return rb_traps_mask(RB_NEXT(pthread_sigmask), how, set, old);
}

RB_EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    rb_agent_bump();
    return rb_traps_mask(RB_NEXT(sigprocmask), how, set, old);
}

#define RB_SIGNAL_FUNCTION(ret, name, params) \
    RB_EXPORT ret name params;                \
    RB_EXPORT ret name params
#define RB_SIGNAL_ACTION sigaction
#define RB_SIGNAL_MASK   sigprocmask
#include "inproc/signal_functions.h"

// ---- masks for the time of a call ----------------------------------------------------------------------

// Copies the set without SIGTRAP to *mine; NULL stays.
static const sigset_t *remove_trap(const sigset_t *set, sigset_t *mine)
{
    rb_agent_bump();
    if (!set || !rb_traps_taken)
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
