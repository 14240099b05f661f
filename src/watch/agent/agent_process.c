// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Actions of the process that the agent must know beforehand: it ends, unloads libraries, starts programs,
// puts itself behind a filter of system calls, or makes system calls past libc's functions.
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inproc/unwind.h"
#include "watch/agent/agent.h"

int dlclose(void *handle);

// ---- the end -------------------------------------------------------------------------------------------

RB_EXPORT void _exit(int status)
{
    syscall(SYS_exit_group, (long)rb_agent_finish(status));
    __builtin_unreachable();
}

RB_EXPORT void _Exit(int status);
RB_EXPORT void _Exit(int status)
{
    syscall(SYS_exit_group, (long)rb_agent_finish(status));
    __builtin_unreachable();
}

// ---- libraries -----------------------------------------------------------------------------------------

// Withdraws all sites of libraries that may go, and stops planting until the library is gone. The agent's
// thread reads the loader's list before it plants again.
RB_EXPORT int dlclose(void *handle)
{
    const int saved = errno;

    rb_agent_bump();
    rb_fetch_add_seq_cst(&rb_plant_holds, 1);
    rb_spin_lock(&rb_plant_lock);
    rb_sites_withdraw_all(false);
    rb_spin_unlock(&rb_plant_lock);
    errno = saved;
    const int r = RB_NEXT(dlclose)(handle);
    rb_unwind_forget();
    rb_fetch_sub_seq_cst(&rb_plant_holds, 1);
    return r;
}

// ---- programs that the program starts or becomes -------------------------------------------------------

#define RB_EXEC_FUNCTION(ret, name, params) RB_EXPORT ret name params
#define RB_EXEC_REAL                        RB_NEXT
#define RB_EXEC_ITSELF()                    rb_agent_bump()
#define RB_EXEC_CHILD()                     rb_agent_bump()
#include "inproc/exec_functions.h"

// ---- filters of system calls ---------------------------------------------------------------------------

// Stops the agent before a filter: its rules are not known, and it probably forbids the agent's calls.
RB_EXPORT int prctl(int what, ...)
{
    unsigned long a[4];
    va_list list;

    va_start(list, what);
    for (int i = 0; i < 4; i++)
        a[i] = va_arg(list, unsigned long);
    va_end(list);
    rb_agent_bump();
    if (what == PR_SET_SECCOMP)
        rb_agent_before_filter();
    return RB_NEXT(prctl)(what, a[0], a[1], a[2], a[3]);
}

// ---- system calls by number ----------------------------------------------------------------------------

#undef syscall
long syscall(long number, ...);
long rb_raw_syscall(long number, ...);

// Counts all of them as synchronisation, because futex may be among them.
RB_EXPORT long syscall(long number, ...)
{
    long a[6];
    va_list list;

    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    rb_agent_bump();
    switch (number) {
    case SYS_seccomp:
        rb_agent_before_filter();
        break;
    case SYS_exit_group:
        a[0] = rb_agent_finish((int)a[0]);
        break;
    case SYS_rt_sigprocmask:
        return rb_mask_by_number(number, a[0], (const void *)a[1], (void *)a[2], a[3]);
    default:
        break;
    }
    return rb_raw_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
