// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "run/intercept/signals/signals.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "run/access/access.h"
#include "run/intercept/descriptors.h"
#include "run/intercept/intercept.h"
#include "run/record/record.h"
#include "run/sync/sync.h"
#include "run/sync/sync_cache.h"

#define SIGNALS   65
#define LIBCS_OWN 32 // libc's functions never block it

// The program's handler in one word, so that our handler sees the old or the new one whole:
// the function, and the flags of its call.
#define STAYS_OPEN  (UINT64_C(1) << 60) // its own number is not blocked while it runs
#define NODEFER     (UINT64_C(1) << 61) // SA_NODEFER was given
#define TAKES_INFO  (UINT64_C(1) << 62) // the further arguments
#define RUNS_ONCE   (UINT64_C(1) << 63) // SA_RESETHAND
#define NO_FUNCTION (STAYS_OPEN | NODEFER | TAKES_INFO | RUNS_ONCE)
static uint64_t handlers[SIGNALS];
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

static void tell_children(struct rb_self *me)
{
    rb_on_release(me, rb_signal_object(SIGCHLD));
    rb_fd_release_others(me);
}

void rb_signal_sent(struct rb_self *me, int number)
{
    rb_on_release(me, rb_signal_object(number));
    tell_children(me);
}

void rb_before_child(void)
{
    RB_BESIDE(rb_fd_child(), tell_children(me));
}

void rb_after_child(void)
{
    RB_BESIDE((void)0, rb_signal_came(me, SIGCHLD));
}

// ---- timers: the signals that timers send are kept, not which timer sends which ------------------------

static uint64_t timer_signals; // a bit for each, from signal 1 to the last, 64
uint64_t rb_signals_of_fds;

static uint64_t sent_by(const struct sigevent *event)
{
    const bool sends = event->sigev_notify == SIGEV_SIGNAL || event->sigev_notify == SIGEV_THREAD_ID;

    return sends ? rb_signal_bit(event->sigev_signo) : 0;
}

void rb_signals_release(struct rb_self *me, uint64_t set)
{
    for (; set; set &= set - 1)
        rb_on_release(me, rb_signal_object(__builtin_ctzll(set) + 1));
}

void rb_event_asked(struct rb_self *me, const struct sigevent *event)
{
    rb_signals_release(me, sent_by(event));
}

void rb_signal_by_fds(int number)
{
    rb_fetch_or_relaxed(&rb_signals_of_fds, rb_signal_bit(number));
}

void rb_event_by_fds(const struct sigevent *event)
{
    if (event)
        rb_fetch_or_relaxed(&rb_signals_of_fds, sent_by(event));
}

void rb_timer_made(const struct sigevent *event)
{
    rb_fetch_or_relaxed(&timer_signals, event ? sent_by(event) : rb_signal_bit(SIGALRM));
}

void rb_timer_set(struct rb_self *me, int which)
{
    static const int sends[] = {
        [ITIMER_REAL] = SIGALRM, [ITIMER_VIRTUAL] = SIGVTALRM, [ITIMER_PROF] = SIGPROF};

    if (which >= 0 && which < (int)RB_LENGTH(sends))
        rb_on_release(me, rb_signal_object(sends[which]));
    if (which < 0)
        rb_signals_release(me, rb_load_relaxed(&timer_signals));
}

static bool is_fault(int number, const siginfo_t *info)
{
    if (number != SIGSEGV && number != SIGBUS && number != SIGFPE && number != SIGILL && number != SIGTRAP &&
        number != SIGSYS)
        return false;
    return info->si_code > 0; // by the kernel, for this instruction
}

// Blocks all signals in the interrupted context and hands the signal back to the kernel. The kernel keeps
// it until the mask is restored. Faults and traps get through, unless the signal to be deferred is itself
// one of these numbers, sent by a thread or process.
void rb_signal_defer(struct rb_self *me, int number, siginfo_t *info, void *given)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    ucontext_t *context = given;
    uint64_t mask;

    __builtin_memcpy(&mask, &context->uc_sigmask, sizeof(mask));
    // If two come at once, the later frame lies on the earlier one, and blocks the same signals and more.
    if (me->deferred)
        sigandset(&me->deferred_mask, &me->deferred_mask, &context->uc_sigmask);
    else
        me->deferred_mask = context->uc_sigmask;
    if (!(mask & rb_signal_bit(LIBCS_OWN))) {
        mask = ~(uint64_t)0;
        for (unsigned i = 0; i < RB_LENGTH(faults); i++)
            mask &= ~(UINT64_C(1) << (faults[i] - 1));
    }
    me->deferred = 1;
    mask |= UINT64_C(1) << (number - 1);
    __builtin_memcpy(&context->uc_sigmask, &mask, sizeof(mask)); // libc's functions leave its own signals out
    rb_signal_keep(me, number, info);
}

void rb_deliver_deferred(struct rb_self *me)
{
    const int saved = errno;
    const sigset_t mask = me->deferred_mask;

    me->deferred = 0;
    __asm__ volatile("" ::: "memory");
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
    rb_signal_forget(me, &mask);
    errno = saved;
}

// ---- faults of atomic operations -----------------------------------------------------------------------
// The runtime performs atomic operations inside the guard, most with an object's lock held (atomics.c). The
// program's handler of a fault may return, and the operation is done again. Or it may leave by a jump. So
// it runs without the guard and the lock, and both are taken again only if it returns.

struct broken_step {
    struct rb_self *me; // NULL: none
    uintptr_t at;
    struct rb_object *on;
};

// Returns true if the fault is of the thread's atomic operation. An operation without the lock is on an
// object in the thread's cache (atomics.c, quick_begin).
static bool is_of_step(struct rb_self *me, int number, const siginfo_t *info)
{
    const uintptr_t at = (uintptr_t)info->si_addr;

    if (number != SIGSEGV && number != SIGBUS)
        return false;
    if (me->step_at) // no address from the kernel if it is not canonical
        return at == me->step_at || info->si_code == SI_KERNEL;
    return at && rb_known_of(me, at)->address == at;
}

static struct broken_step break_step(struct rb_self *me, int number, const siginfo_t *info,
                                     ucontext_t *context)
{
    const struct broken_step b = {me, me->step_at, me->step_on};
    uint64_t mask;

    if (!is_of_step(me, number, info))
        return (struct broken_step){NULL, 0, NULL};
    if (b.on)
        rb_object_unlock(b.on);
    rb_step_begins(me, 0, NULL);
    // Deferred signals stay deferred until the handler has returned or jumps. If the mask
    // has a signal of libc's own, they were deferred before the fault. Else they came on the
    // way here, and the mask is the program's.
    __builtin_memcpy(&mask, &context->uc_sigmask, sizeof(mask));
    if (me->deferred && mask & rb_signal_bit(LIBCS_OWN))
        __builtin_memcpy(&context->uc_sigmask, &me->deferred_mask, sizeof(mask)); // the kernel has ours
    me->deferred = 0;
    me->busy = 0;
    return b;
}

// Takes the guard and the lock again. Releases of other threads to the object meanwhile, and acquires of
// the handler, are not accounted for.
static void resume_step(const struct broken_step *b)
{
    const uint64_t all = ~(uint64_t)0;

    if (!b->me)
        return;
    // A signal between here and the return would wait for rb_leave with the handler's mask.
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8);
    b->me->busy = 1;
    __asm__ volatile("" ::: "memory");
    if (b->on)
        rb_spin_lock(&b->on->lock);
    rb_step_begins(b->me, b->at, b->on);
    rb_lost_edge(b->me);
}

// ---- the program's handlers ----------------------------------------------------------------------------

typedef void handler_function(int, siginfo_t *, void *);

static handler_function *function_of(uint64_t word)
{
    return (handler_function *)(uintptr_t)(word & ~NO_FUNCTION);
}

static uint64_t word_of(int number, const struct sigaction *a)
{
    if (!rb_signal_has_handler(a))
        return 0;
    const bool nodefer = a->sa_flags & SA_NODEFER, open = nodefer && !sigismember(&a->sa_mask, number);
    return (uintptr_t)a->sa_sigaction | (a->sa_flags & SA_SIGINFO ? TAKES_INFO : 0) |
           (a->sa_flags & SA_RESETHAND ? RUNS_ONCE : 0) | (nodefer ? NODEFER : 0) | (open ? STAYS_OPEN : 0);
}

static bool is_ours(const struct sigaction *a)
{
    return (a->sa_flags & SA_SIGINFO) && a->sa_sigaction == rb_on_signal;
}

// Rewrites our handler to the program's. A handler that has run its only time is
// the standard action, with its old flags.
static void restore_asked(struct sigaction *a, uint64_t word)
{
    a->sa_sigaction = function_of(word);
    a->sa_flags &= ~(SA_SIGINFO | SA_RESETHAND | SA_NODEFER);
    a->sa_flags |= (word & TAKES_INFO ? SA_SIGINFO : 0) | (word & RUNS_ONCE ? SA_RESETHAND : 0) |
                   (word & NODEFER ? SA_NODEFER : 0);
}

// Lets the kernel's present action happen: the handler was to run once and has run, or the program has
// changed its action since the kernel called us. The standard action is installed only when it is needed.
// So a handler that installs itself again is not overwritten.
static void run_default(int number, siginfo_t *info)
{
    struct sigaction now;

    if (RB_REAL(sigaction)(number, NULL, &now))
        return;
    const uint64_t word = rb_load_acquire(&handlers[number]);
    if (is_ours(&now) && !function_of(word)) {
        if (number == SIGCHLD || number == SIGURG || number == SIGWINCH || number == SIGCONT)
            return;
        restore_asked(&now, word);
        RB_REAL(sigaction)(number, &now, NULL);
    }
    if (!is_fault(number, info)) // a fault comes again by itself
        rb_signal_again(rb_self_tls, number, info);
}

// Returns the handler to call now; one that runs once is used up.
static uint64_t take_handler(int number)
{
    uint64_t word = rb_load_acquire(&handlers[number]);

    while (word & RUNS_ONCE && function_of(word))
        if (rb_cas_strong_acq_rel(&handlers[number], &word, word & NO_FUNCTION))
            break;
    return word;
}

static void call_handler(uint64_t word, int number, siginfo_t *info, void *context)
{
    const bool hidden = rb_traps_hidden(); // in the mask that comes back when it returns
    struct rb_rmw_place place;

    rb_rmw_show_place(context, &place);
    rb_traps_unblock();
    if (word & STAYS_OPEN && (number != SIGTRAP || !rb_traps_taken))
        syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &(uint64_t){rb_signal_bit(number)}, NULL, 8);
    if (word & TAKES_INFO)
        function_of(word)(number, info, context);
    else
        ((void (*)(int))(void (*)(void))function_of(word))(number);
    rb_rmw_hide_place(context, &place);
    rb_traps_hide(hidden);
}

void rb_on_signal(int number, siginfo_t *info, void *context)
{
    const int saved = errno;
    struct rb_self *me = rb_self_tls;
    struct broken_step step = {NULL, 0, NULL};
    struct rb_undone undone = {0};
    const int ignoring = me ? me->ignore_sync : 0, inside = me ? me->inside_mutex : 0;
    uint64_t word = 0;

    if (me && me->busy && !is_fault(number, info)) {
        rb_signal_defer(me, number, info, context);
    } else if ((number != SIGTRAP || !rb_traps_taken || !rb_traps_settle(info, context)) &&
               rb_signal_oldest(me, number, info)) {
        if (me && me->busy)
            step = break_step(me, number, info, context);
        if ((number == SIGSEGV || number == SIGBUS) && is_fault(number, info))
            rb_access_undo(me, (uintptr_t)info->si_addr, &undone);
        word = take_handler(number);
        if (ignoring || inside) // these apply to the interrupted code
            me->ignore_sync = me->inside_mutex = 0;
        if (!function_of(word))
            run_default(number, info);
        else
            RB_BESIDE((void)0, rb_signal_came(me, number));
    }
    errno = saved;
    if (function_of(word))
        call_handler(word, number, info, context);
    rb_access_redo(me, &undone);
    if (ignoring || inside) {
        me->ignore_sync = ignoring;
        me->inside_mutex = inside;
    }
    resume_step(&step);
}

void rb_signal_told(int number, const struct sigaction *action)
{
    RB_BESIDE((void)0, rb_on_release(me, rb_signal_object(number)));
    rb_store_release(&handlers[number], word_of(number, action));
}

void rb_signal_asked(int number, struct sigaction *action)
{
    if (is_ours(action))
        restore_asked(action, rb_load_acquire(&handlers[number]));
}

// Returns the action to install for the program's. With SA_RESETHAND the kernel would remove
// our handler although the signal may have to be deferred. With SA_NODEFER a signal handed
// back to the kernel would come again at once.
static struct sigaction make_action(const struct sigaction *action)
{
    struct sigaction mine = *action;

    mine.sa_sigaction = rb_on_signal;
    mine.sa_flags = (mine.sa_flags | SA_SIGINFO) & ~(SA_RESETHAND | SA_NODEFER);
    return mine;
}

int rb_signal_action(int number, const struct sigaction *action, struct sigaction *old)
{
    struct sigaction wanted, mine, before;

    if (number <= 0 || number >= SIGNALS || !rb_process.on)
        return RB_REAL(sigaction)(number, action, old);
    const uint64_t previous = rb_load_acquire(&handlers[number]);
    if (action) {
        wanted = *action;
        if (wanted.sa_sigaction == rb_on_signal) // the program got ours from the kernel
            restore_asked(&wanted, previous);
        action = &wanted;
    }
    if (number == SIGTRAP && rb_traps_taken)
        return rb_traps_action(action, old);
    const bool handles = action && rb_signal_has_handler(action);
    if (handles) {
        mine = make_action(action);
        rb_signal_told(number, action);
    }
    const int r = RB_REAL(sigaction)(number, handles ? &mine : action, &before);
    if (handles ? r != 0 : action && r == 0)
        rb_store_release(&handlers[number], r ? previous : 0);
    if (r == 0 && old) {
        *old = before;
        if (is_ours(&before))
            restore_asked(old, previous);
    }
    return r;
}

RB_INTERCEPT(int, sigaction, (int number, const struct sigaction *action, struct sigaction *old))
{
    return rb_signal_action(number, action, old);
}

#define RB_SIGNAL_FUNCTION RB_INTERCEPT
#define RB_SIGNAL_ACTION   rb_signal_action
#define RB_SIGNAL_MASK     rb_signal_mask
#include "inproc/signal_functions.h"
