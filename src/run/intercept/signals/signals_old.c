// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The other functions that install a handler, in terms of sigaction. The meaning of signal() depends on the
// caller's standard: with -std=c11 and the like it is __sysv_signal.
#include "run/intercept/intercept.h"
#include "run/intercept/signals/signals.h"

static uint64_t interrupts; // a bit for each signal: siginterrupt has said that it interrupts calls

static sighandler_t ask_handler(int number, sighandler_t handler, int flags, bool blocks)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, old;

    if (handler == SIG_ERR || !rb_signal_bit(number)) {
        errno = EINVAL;
        return SIG_ERR;
    }
    sigemptyset(&action.sa_mask);
    if (blocks)
        sigaddset(&action.sa_mask, number);
    return rb_signal_action(number, &action, &old) ? SIG_ERR : old.sa_handler;
}

static sighandler_t ask_as_bsd(int number, sighandler_t handler)
{
    const bool ends_calls = rb_load_relaxed(&interrupts) & rb_signal_bit(number);

    return ask_handler(number, handler, ends_calls ? 0 : SA_RESTART, true);
}

static sighandler_t ask_as_system_v(int number, sighandler_t handler)
{
    return ask_handler(number, handler, SA_RESETHAND | SA_NODEFER | SA_INTERRUPT, false);
}

#define RB_ASKS(name, like)                                              \
    RB_INTERCEPT(sighandler_t, name, (int number, sighandler_t handler)) \
    {                                                                    \
        return ask_as_##like(number, handler);                           \
    }
RB_ASKS(signal, bsd)
RB_ASKS(bsd_signal, bsd)
RB_ASKS(ssignal, bsd)
RB_ASKS(sysv_signal, system_v)
RB_ASKS(__sysv_signal, system_v)

RB_INTERCEPT(int, sigignore, (int number))
{
    return ask_handler(number, SIG_IGN, 0, false) == SIG_ERR ? -1 : 0;
}

RB_INTERCEPT(sighandler_t, sigset, (int number, sighandler_t handler))
{
    struct sigaction now;
    sigset_t set, before;

    sigemptyset(&set);
    if (handler == SIG_ERR || sigaddset(&set, number)) {
        errno = EINVAL;
        return SIG_ERR;
    }
    if (handler == SIG_HOLD) {
        if (rb_signal_mask(SIG_BLOCK, &set, &before) || rb_signal_action(number, NULL, &now))
            return SIG_ERR;
    } else {
        now.sa_handler = ask_handler(number, handler, 0, false);
        if (now.sa_handler == SIG_ERR || rb_signal_mask(SIG_UNBLOCK, &set, &before))
            return SIG_ERR;
    }
    return sigismember(&before, number) ? SIG_HOLD : now.sa_handler;
}

RB_INTERCEPT(int, siginterrupt, (int number, int ends_calls))
{
    struct sigaction action;

    if (rb_signal_action(number, NULL, &action))
        return -1;
    if (ends_calls) {
        rb_fetch_or_relaxed(&interrupts, rb_signal_bit(number));
        action.sa_flags &= ~SA_RESTART;
    } else {
        rb_fetch_and_relaxed(&interrupts, ~rb_signal_bit(number));
        action.sa_flags |= SA_RESTART;
    }
    return rb_signal_action(number, &action, NULL);
}
