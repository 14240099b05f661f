// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Asynchronous cancellation. libc cancels a thread that allows it by a signal of its own. The
// signal's handler unwinds the thread at any place. Inside the guard that would leave locks held for
// ever. So in a process that both allows and uses cancellation, our handler calls libc's, and the
// signal is deferred to rb_leave like others.
//
// libc installs its handler at the first pthread_cancel, and sends the signal at once. To install ours before
// that, the runtime cancels a thread of its own, which disallows cancellation and ends by itself. This is done
// only where cancellation is both allowed and used: libomp allows it in each of its threads, and never uses it.
#include <linux/futex.h>
#include <sys/syscall.h>

#include "run/intercept/intercept.h"
#include "run/intercept/signals/signals.h"

#define LIBC_CANCELS 32 // libc's sigaction refuses this number

static void (*libcs)(int, siginfo_t *, void *);

static void handle_cancel(int number, siginfo_t *info, void *context)
{
    const int saved = errno;
    struct rb_self *me = rb_self_tls;

    if (me && me->busy)
        rb_signal_defer(me, number, info, context);
    else if (rb_signal_oldest(me, number, info))
        libcs(number, info, context);
    errno = saved;
}

static void *wait_for_word(void *given)
{
    uint32_t *told = given;

    while (!rb_load_acquire(told))
        syscall(SYS_futex, told, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    return NULL;
}

static void install_libc_handler(void)
{
    uint64_t all = ~(uint64_t)0, before;
    uint32_t told = 0;
    pthread_t thread;

    // The program's handlers must not run on this thread.
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, 8);
    const int r = RB_REAL(pthread_create)(&thread, NULL, wait_for_word, &told);
    if (r == 0) {
        RB_REAL(pthread_cancel)(thread);
        rb_store_release(&told, 1);
        syscall(SYS_futex, &told, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
        RB_REAL(pthread_join)(thread, NULL);
    }
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, 8);
}

// A libc with another handler is left alone.
static void stand_in_front(void)
{
    struct rb_kernel_action a;
    int state;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state); // joining would be a point of cancellation
    install_libc_handler();
    pthread_setcancelstate(state, NULL);
    if (syscall(SYS_rt_sigaction, LIBC_CANCELS, NULL, &a, 8) || (uintptr_t)a.handler <= 1 ||
        !(a.flags & SA_SIGINFO) || a.handler == handle_cancel)
        return;
    libcs = a.handler;
    a.handler = handle_cancel;
    syscall(SYS_rt_sigaction, LIBC_CANCELS, &a, NULL, 8);
}

// A second caller waits until the first is done: its cancellation may come any time from then on.
static void stand_in_front_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const int saved = errno;

    RB_REAL(pthread_once)(&once, stand_in_front);
    errno = saved;
}

// Each side notes itself before it looks for the other: one of them sees both.
static bool allowed, used;

static void note_and_stand_in_front(bool *mine, const bool *other)
{
    if (!rb_process.on)
        return;
    if (!rb_load_relaxed(mine))
        rb_store_seq_cst(mine, true);
    if (rb_load_seq_cst(other))
        stand_in_front_once();
}

RB_INTERCEPT(int, pthread_setcanceltype, (int type, int *old))
{
    if (type == PTHREAD_CANCEL_ASYNCHRONOUS)
        note_and_stand_in_front(&allowed, &used);
    return RB_REAL(pthread_setcanceltype)(type, old);
}

// The handlers that the thread runs at its end are not seen to begin.
RB_INTERCEPT(int, pthread_cancel, (pthread_t thread))
{
    note_and_stand_in_front(&used, &allowed);
    RB_BESIDE((void)0, rb_lost_edge(me));
    return RB_REAL(pthread_cancel)(thread);
}
