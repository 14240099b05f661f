// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "inproc/traps.h"

#include <errno.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define BIT ((uint64_t)1 << (SIGTRAP - 1))

bool rb_traps_taken;
static const struct rb_trap_owner *owner;
static struct sigaction wanted; // by the program; as with sigaction, one thread at a time changes it
static RB_TLS bool hidden;      // the program's mask blocks it
static RB_TLS bool waiting;     // one has come meanwhile (never_blocked)
static RB_TLS siginfo_t waiting_is;

// ---- a trap --------------------------------------------------------------------------------------------

static void send_to_thread(siginfo_t *info)
{
    syscall(SYS_rt_tgsigqueueinfo, syscall(SYS_getpid), syscall(SYS_gettid), (long)SIGTRAP, info);
}

// Delays a SIGTRAP that was sent while the program has it blocked.
static void delay_trap(siginfo_t *info, ucontext_t *context)
{
    if (owner->never_blocked) {
        waiting = true;
        waiting_is = *info;
        return;
    }
    hidden = false;
    sigaddset(&context->uc_sigmask, SIGTRAP);
    if (info->si_code == SI_TKILL)
        send_to_thread(info);
    else
        syscall(SYS_rt_sigqueueinfo, syscall(SYS_getpid), (long)SIGTRAP, info);
}

static void set_handler_mask(const ucontext_t *context)
{
    uint64_t mask, more;

    __builtin_memcpy(&mask, &context->uc_sigmask, sizeof(mask));
    __builtin_memcpy(&more, &wanted.sa_mask, sizeof(more));
    mask |= more | (wanted.sa_flags & SA_NODEFER ? 0 : BIT);
    if (owner->never_blocked)
        mask &= ~BIT;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8L);
}

// Returns true if the kernel would call the program's handler. A trap of an instruction kills a process that blocks it.
// Where handlers run with SIGTRAP hidden, one that has jumped leaves `hidden` behind: it proves nothing.
static bool is_for_handler(void)
{
    return rb_signal_has_handler(&wanted) && !(hidden && owner->never_blocked);
}

bool rb_traps_settle(siginfo_t *info, void *context)
{
    const struct sigaction standard = {.sa_handler = SIG_DFL};

    if (hidden && info->si_code <= 0) {
        delay_trap(info, context);
        return true;
    }
    if (is_for_handler()) {
        set_handler_mask(context);
        if (wanted.sa_flags & SA_RESETHAND)
            wanted = standard;
        return false;
    }
    if (wanted.sa_handler == SIG_IGN && info->si_code <= 0)
        return true;
    rb_host.sigaction(SIGTRAP, &standard, NULL); // it comes again after the return
    send_to_thread(info);
    return true;
}

void rb_traps_call(int number, siginfo_t *info, void *context)
{
    const int saved = errno;
    const struct sigaction a = wanted;
    const bool settled = rb_traps_settle(info, context);

    errno = saved;
    if (settled)
        return;
    if (a.sa_flags & SA_SIGINFO)
        a.sa_sigaction(number, info, context);
    else
        a.sa_handler(number);
}

static void on_trap(int number, siginfo_t *info, void *context)
{
    const int saved = errno;
    const bool ours = owner->trapped(info, context);

    errno = saved;
    if (!ours)
        owner->other(number, info, context);
}

// ---- taking it -----------------------------------------------------------------------------------------

// Installs our handler. All signals are blocked while a trap is handled. Else a handler of the program on top of ours
// would run with SIGTRAP blocked and hit the breakpoint again and again. A frequent timer could keep us from removing the
// breakpoint for ever. The program's own handler gets its own mask (set_handler_mask).
static int install_handler(void)
{
    struct sigaction mine = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_RESTART};

    sigfillset(&mine.sa_mask);
    if (rb_signal_has_handler(&wanted))
        mine.sa_flags = (wanted.sa_flags & (SA_RESTART | SA_ONSTACK)) | SA_SIGINFO;
    return rb_host.sigaction(SIGTRAP, &mine, NULL);
}

static void tell_owner(void)
{
    if (owner->told)
        owner->told(&wanted);
}

bool rb_traps_take(const struct rb_trap_owner *by, const struct sigaction *program)
{
    if (rb_traps_taken)
        return true;
    owner = by;
    wanted = *program;
    tell_owner();
    rb_store_seq_cst(&rb_traps_taken, true);
    if (install_handler()) {
        rb_store_seq_cst(&rb_traps_taken, false);
        return false;
    }
    rb_traps_unblock();
    return true;
}

void rb_traps_give_back(void)
{
    const uint64_t bit = BIT;

    if (!rb_traps_taken)
        return;
    rb_store_seq_cst(&rb_traps_taken, false);
    rb_host.sigaction(SIGTRAP, &wanted, NULL);
    if (hidden)
        syscall(SYS_rt_sigprocmask, SIG_BLOCK, &bit, NULL, 8L);
    hidden = false;
}

bool rb_traps_installed(void)
{
    struct rb_kernel_action now;

    return syscall(SYS_rt_sigaction, (long)SIGTRAP, NULL, &now, 8L) == 0 && now.handler == on_trap;
}

int rb_traps_action(const struct sigaction *action, struct sigaction *old)
{
    const int how_called = (int)(SA_SIGINFO | SA_RESETHAND | SA_NODEFER);
    const struct sigaction before = wanted;

    if (action) {
        wanted = *action;
        if (wanted.sa_sigaction == on_trap) { // the program got ours from the kernel
            wanted.sa_sigaction = before.sa_sigaction;
            wanted.sa_flags = (action->sa_flags & ~how_called) | (before.sa_flags & how_called);
        }
        tell_owner();
        const int r = install_handler();
        if (r) {
            wanted = before;
            return r;
        }
    }
    if (old)
        *old = before;
    return 0;
}

// ---- masks: the kernel changes the program's mask, then SIGTRAP is taken out of it again ---------------

bool rb_traps_hidden(void)
{
    return hidden;
}

void rb_traps_hide(bool so)
{
    hidden = so;
}

static void show_mask(void)
{
    const uint64_t bit = BIT;

    if (!hidden)
        return;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &bit, NULL, 8L);
    hidden = false;
}

void rb_traps_unblock(void)
{
    const uint64_t bit = BIT;
    uint64_t blocked = 0;

    if (!rb_load_relaxed(&rb_traps_taken) || (owner->needed && !owner->needed()))
        return;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &blocked, 8L);
    if (!(blocked & bit))
        return;
    hidden = true; // first: a pending one comes now, and is delayed
    syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &bit, NULL, 8L);
}

static void deliver_waiting(void)
{
    if (!waiting || hidden)
        return;
    waiting = false;
    send_to_thread(&waiting_is);
}

// A change of the mask where SIGTRAP is never blocked: the kernel gets the set without it. A handler that the change lets
// through would run with SIGTRAP blocked if it was taken out afterwards.
struct change {
    bool was, becomes; // hidden
};

static bool is_never_blocked(void)
{
    return rb_load_relaxed(&rb_traps_taken) && owner->never_blocked;
}

// Begins a change by a set, if one is given, that has SIGTRAP in it or not.
static struct change begin_change(long how, bool given, bool has)
{
    struct change c = {hidden, hidden};

    if (given)
        c.becomes = how == SIG_SETMASK ? has : how == SIG_BLOCK ? c.was || has : c.was && !has;
    hidden = c.becomes;
    return c;
}

static void end_change(const struct change *c, bool done)
{
    hidden = done ? c->becomes : c->was; // a handler may have run, and changed it for itself
    deliver_waiting();
}

int rb_traps_mask(int (*real)(int, const sigset_t *, sigset_t *), int how, const sigset_t *set, sigset_t *old)
{
    sigset_t mine;

    if (!is_never_blocked()) {
        show_mask();
        const int r = real(how, set, old);
        rb_traps_unblock();
        return r;
    }
    const struct change c = begin_change(how, set != NULL, set && sigismember(set, SIGTRAP) == 1);
    if (set) {
        mine = *set;
        sigdelset(&mine, SIGTRAP);
        set = &mine;
    }
    const int r = real(how, set, old);
    if (r == 0 && old && c.was)
        sigaddset(old, SIGTRAP);
    end_change(&c, r == 0);
    return r;
}

// Returns true if the kernel can read a mask there: it does so before it looks at `how`.
static bool is_mask_readable(const void *set)
{
    const int saved = errno;
    const bool fault = syscall(SYS_rt_sigprocmask, -1L, set, NULL, 8L) && errno == EFAULT;

    errno = saved;
    return !fault;
}

long rb_mask_by_number(long number, long how, const void *set, void *old, long size)
{
    uint64_t mine = 0;

    if (!is_never_blocked() || size != sizeof(mine) || (set && !is_mask_readable(set))) {
        show_mask();
        const long r = syscall(number, how, set, old, size);
        rb_traps_unblock();
        return r;
    }
    if (set)
        __builtin_memcpy(&mine, set, sizeof(mine));
    const struct change c = begin_change(how, set != NULL, mine & BIT);
    mine &= ~BIT;
    const long r = syscall(number, how, set ? &mine : NULL, old, size);
    if (r == 0 && old && c.was)
        *(uint64_t *)old |= BIT;
    end_change(&c, r == 0);
    return r;
}
