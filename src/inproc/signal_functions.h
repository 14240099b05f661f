// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The old functions of BSD and System V that install a handler or change the mask, in terms of sigaction and sigprocmask.
// libc's own would reach the kernel past our functions of these names. The meaning of signal() depends on the caller's
// standard: with -std=c11 and the like it is __sysv_signal.
//
// Included once by the runtime and once by the agent, with nothing in front of it but these macros:
//   RB_SIGNAL_FUNCTION(ret, name, params)   begins the definition that stands before libc's
//   RB_SIGNAL_ACTION(number, action, old)   the work of sigaction
//   RB_SIGNAL_MASK(how, set, old)           the work of sigprocmask
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

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
    return RB_SIGNAL_ACTION(number, &action, &old) ? SIG_ERR : old.sa_handler;
}

static sighandler_t ask_as_bsd(int number, sighandler_t handler)
{
    const bool ends_calls = rb_load_relaxed(&interrupts) & rb_signal_bit(number);

    return ask_handler(number, handler, ends_calls ? 0 : SA_RESTART, true);
}

static sighandler_t ask_as_system_v(int number, sighandler_t handler)
{
    return ask_handler(number, handler, (int)SA_RESETHAND | SA_NODEFER | SA_INTERRUPT, false);
}

#define RB_ASKS(name, like)                                                    \
    RB_SIGNAL_FUNCTION(sighandler_t, name, (int number, sighandler_t handler)) \
    {                                                                          \
        return ask_as_##like(number, handler);                                 \
    }
RB_ASKS(signal, bsd)
RB_ASKS(bsd_signal, bsd)
RB_ASKS(ssignal, bsd)
RB_ASKS(sysv_signal, system_v)
RB_ASKS(__sysv_signal, system_v)
#undef RB_ASKS

RB_SIGNAL_FUNCTION(int, sigignore, (int number))
{
    return ask_handler(number, SIG_IGN, 0, false) == SIG_ERR ? -1 : 0;
}

RB_SIGNAL_FUNCTION(sighandler_t, sigset, (int number, sighandler_t handler))
{
    struct sigaction now;
    sigset_t set, before;

    sigemptyset(&set);
    if (handler == SIG_ERR || sigaddset(&set, number)) {
        errno = EINVAL;
        return SIG_ERR;
    }
    if (handler == SIG_HOLD) {
        if (RB_SIGNAL_MASK(SIG_BLOCK, &set, &before) || RB_SIGNAL_ACTION(number, NULL, &now))
            return SIG_ERR;
    } else {
        now.sa_handler = ask_handler(number, handler, 0, false);
        if (now.sa_handler == SIG_ERR || RB_SIGNAL_MASK(SIG_UNBLOCK, &set, &before))
            return SIG_ERR;
    }
    return sigismember(&before, number) ? SIG_HOLD : now.sa_handler;
}

RB_SIGNAL_FUNCTION(int, siginterrupt, (int number, int ends_calls))
{
    struct sigaction action;

    if (RB_SIGNAL_ACTION(number, NULL, &action))
        return -1;
    if (ends_calls) {
        rb_fetch_or_relaxed(&interrupts, rb_signal_bit(number));
        action.sa_flags &= ~SA_RESTART;
    } else {
        rb_fetch_and_relaxed(&interrupts, ~rb_signal_bit(number));
        action.sa_flags |= SA_RESTART;
    }
    return RB_SIGNAL_ACTION(number, &action, NULL);
}

// ---- masks ---------------------------------------------------------------------------------------------

// Changes the mask of the first signals, of which a word has a bit each. Returns the one before.
static int change_first(int how, int bits)
{
    sigset_t set, before;
    int was = 0;

    sigemptyset(&set);
    for (int i = 1; i <= 32; i++)
        if ((unsigned)bits >> (i - 1) & 1)
            sigaddset(&set, i);
    if (RB_SIGNAL_MASK(how, &set, &before))
        return -1;
    for (int i = 1; i <= 32; i++)
        was |= sigismember(&before, i) == 1 ? (int)(1u << (i - 1)) : 0;
    return was;
}

RB_SIGNAL_FUNCTION(int, sigblock, (int bits))
{
    return change_first(SIG_BLOCK, bits);
}

RB_SIGNAL_FUNCTION(int, sigsetmask, (int bits))
{
    return change_first(SIG_SETMASK, bits);
}

static int change_one(int how, int number)
{
    sigset_t set;

    sigemptyset(&set);
    if (sigaddset(&set, number))
        return -1;
    return RB_SIGNAL_MASK(how, &set, NULL);
}

RB_SIGNAL_FUNCTION(int, sighold, (int number))
{
    return change_one(SIG_BLOCK, number);
}

RB_SIGNAL_FUNCTION(int, sigrelse, (int number))
{
    return change_one(SIG_UNBLOCK, number);
}
