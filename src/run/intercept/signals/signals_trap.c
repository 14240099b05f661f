// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SIGTRAP, which watchpoints and hooks (unseen) need (inproc/traps.h). rb_on_signal calls the program's handler of it, as of all signals.
#include "inproc/traps.h"

#include "run/intercept/intercept.h"
#include "run/intercept/signals/signals.h"
#include "run/watchpoint/watchpoints.h"

static void tell_action(const struct sigaction *action)
{
    rb_signal_told(SIGTRAP, action);
}

static bool handle_trap(siginfo_t *info, void *context)
{
    return rb_rmw_trap(info, context) || rb_watchpoints_trap(info, context);
}

static bool is_trap_needed(void)
{
    return rb_rmw_traps || rb_watchpoints_on();
}

bool rb_trap_take(void)
{
    static const struct rb_trap_owner owner = {.trapped = handle_trap,
                                               .other = rb_on_signal,
                                               .needed = is_trap_needed,
                                               .told = tell_action};
    struct sigaction program;

    if (rb_traps_taken)
        return true;
    rb_host.sigaction = RB_REAL(sigaction);
    if (rb_host.sigaction(SIGTRAP, NULL, &program))
        return false;
    rb_signal_asked(SIGTRAP, &program);
    return rb_traps_take(&owner, &program);
}

int rb_signal_mask(int how, const sigset_t *set, sigset_t *old)
{
    return rb_traps_mask(RB_REAL(sigprocmask), how, set, old);
}

RB_INTERCEPT(int, pthread_sigmask, (int how, const sigset_t *set, sigset_t *old))
{
    return rb_traps_mask(RB_REAL(pthread_sigmask), how, set, old);
}

RB_INTERCEPT(int, sigprocmask, (int how, const sigset_t *set, sigset_t *old))
{
    return rb_signal_mask(how, set, old);
}
