// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Real-time signals that wait for rb_leave. The kernel queues signals of one number in the
// order they were sent, but one that is handed back to it goes to the end. So the thread
// keeps the contents, and hands back a token.
//
// Invariant: a delivery outside the guard takes the oldest contents kept for its number. A token adds no
// contents, any other signal adds its own. So there are as many deliveries as signals, and their contents
// come in order. docs/reference/signals.md has the bounds.
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "run/intercept/intercept.h"
#include "run/intercept/signals/signals.h"

enum { KERNELS_FIRST = 32, TOKEN = 0x52bda11 }; // in si_errno, which the kernel leaves 0 in queued signals

static int send_to_self(struct rb_self *me, int number, siginfo_t *info)
{
    const bool known = rb_host.sandboxed && rb_process.pid && me && me->os_id;
    const long process = known ? (long)rb_process.pid : syscall(SYS_getpid);

    return (int)syscall(SYS_rt_tgsigqueueinfo, process, known ? (long)me->os_id : syscall(SYS_gettid), number,
                        info);
}

// The kernel takes a signal of kill(2) even without room for the
// contents, and makes it one without contents.
static void send_without_contents(struct rb_self *me, int number)
{
    siginfo_t info = {.si_signo = number, .si_code = SI_USER};

    send_to_self(me, number, &info);
}

static bool has_no_contents(const siginfo_t *info)
{
    return info->si_code == SI_USER && !info->si_pid && !info->si_uid;
}

// ---- the contents kept ---------------------------------------------------------------------------------
// A handler of another number may run between any two steps; no other code does.

static bool keep_contents(struct rb_signal_queue *q, int number, const siginfo_t *info)
{
    for (unsigned i = 0; i < RB_SIGNALS_KEPT; i++) {
        struct rb_kept_signal *k = &q->kept[i];
        uint32_t none = 0;
        if (!rb_cas_strong_relaxed(&k->number, &none, (uint32_t)number))
            continue;
        k->order = rb_add_fetch_relaxed(&q->arrivals, 1);
        __builtin_memcpy(k->contents, info, sizeof(k->contents));
        rb_add_fetch_relaxed(&q->count, 1);
        return true;
    }
    return false;
}

static struct rb_kept_signal *find_oldest(struct rb_signal_queue *q, int number)
{
    struct rb_kept_signal *oldest = NULL;

    for (unsigned i = 0; i < RB_SIGNALS_KEPT; i++)
        if (q->kept[i].number == (uint32_t)number && (!oldest || q->kept[i].order < oldest->order))
            oldest = &q->kept[i];
    return oldest;
}

static void exchange_contents(struct rb_signal_queue *q, struct rb_kept_signal *k, siginfo_t *info)
{
    char oldest[sizeof(k->contents)];

    __builtin_memcpy(oldest, k->contents, sizeof(oldest));
    __builtin_memcpy(k->contents, info, sizeof(oldest));
    __builtin_memcpy(info, oldest, sizeof(oldest));
    k->order = rb_add_fetch_relaxed(&q->arrivals, 1);
}

static void drop_kept(struct rb_signal_queue *q, struct rb_kept_signal *k)
{
    rb_store_relaxed(&k->number, 0);
    rb_sub_fetch_relaxed(&q->count, 1);
}

// ---- the interface to signals.c ------------------------------------------------------------------------

void rb_signal_again(struct rb_self *me, int number, siginfo_t *info)
{
    if (send_to_self(me, number, info) && errno == EAGAIN)
        send_without_contents(me, number);
}

void rb_signal_keep(struct rb_self *me, int number, siginfo_t *info)
{
    struct rb_signal_queue *q = &me->signals;
    const bool token = info->si_errno == TOKEN;

    if (number >= KERNELS_FIRST && token && !find_oldest(q, number))
        info->si_errno = 0; // another fiber of the thread has kept it
    if (number < KERNELS_FIRST || (info->si_errno != TOKEN && !keep_contents(q, number, info))) {
        rb_signal_again(me, number, info);
        return;
    }
    info->si_errno = TOKEN;
    if (send_to_self(me, number, info) == 0)
        return;
    rb_fetch_or_relaxed(&q->overflowed, rb_signal_bit(number));
    send_without_contents(me, number);
}

bool rb_signal_oldest(struct rb_self *me, int number, siginfo_t *info)
{
    struct rb_signal_queue *const q = me ? &me->signals : NULL;
    bool token = info->si_errno == TOKEN;

    if (number < KERNELS_FIRST)
        return true;
    if (token)
        info->si_errno = 0;
    struct rb_kept_signal *k = q && q->count ? find_oldest(q, number) : NULL;
    const bool overflowed = q && q->overflowed & rb_signal_bit(number),
               empty = overflowed && has_no_contents(info);
    if (!k)
        return !empty; // a token has its own contents where its thread keeps none any more
    token |= empty;
    exchange_contents(q, k, info);
    if (token)
        drop_kept(q, k);
    if (overflowed && find_oldest(q, number))
        send_without_contents(me, number);
    return true;
}

void rb_signal_forget(struct rb_self *me, const sigset_t *mask)
{
    struct rb_signal_queue *q = &me->signals;
    const uint64_t all = ~(uint64_t)0;
    uint64_t blocked;

    if (!q->count && !q->overflowed)
        return;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8);
    __builtin_memcpy(&blocked, mask, sizeof(blocked));
    for (unsigned i = 0; i < RB_SIGNALS_KEPT; i++)
        if (q->kept[i].number && !(blocked & rb_signal_bit((int)q->kept[i].number)))
            drop_kept(q, &q->kept[i]);
    q->overflowed &= blocked; // no signal of the others is queued any more
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, mask, NULL, 8);
}

// ---- functions that take signals without a handler -----------------------------------------------------
// A handler that blocks the number may call them while contents are kept.

static int take_signal(const sigset_t *set, siginfo_t *info, const struct timespec *t)
{
    siginfo_t own, *const got = info ? info : &own;
    int number;

    do
        number = RB_REAL(sigtimedwait)(set, got, t);
    while (number > 0 && !rb_signal_oldest(rb_self_tls, number, got));
    if (number > 0)
        RB_BESIDE((void)0, rb_signal_came(me, number));
    return number;
}

RB_INTERCEPT(int, sigtimedwait, (const sigset_t *set, siginfo_t *info, const struct timespec *t))
{
    return take_signal(set, info, t);
}

RB_INTERCEPT(int, sigwaitinfo, (const sigset_t *set, siginfo_t *info))
{
    return take_signal(set, info, NULL);
}

RB_INTERCEPT(int, sigwait, (const sigset_t *set, int *number))
{
    const int saved = errno;
    int taken;

    do
        taken = take_signal(set, NULL, NULL);
    while (taken < 0 && errno == EINTR);
    const int error = taken < 0 ? errno : 0;
    errno = saved;
    if (!error)
        *number = taken;
    return error;
}
