// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "run/core/orphan.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if !defined(SYS_close_range)
#define SYS_close_range 436
#endif

void rb_close_from(int first)
{
    struct rlimit most;

    if (syscall(SYS_close_range, (unsigned)first, ~0u, 0) == 0)
        return;
    if (syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &most) || most.rlim_cur > 1u << 20)
        most.rlim_cur = 1u << 20;
    for (unsigned fd = (unsigned)first; fd < most.rlim_cur; fd++)
        syscall(SYS_close, fd);
}

void rb_orphan_reap(long child)
{
    while (child > 0 && syscall(SYS_wait4, child, NULL, __WCLONE, NULL) < 0 && errno == EINTR)
        ;
}

static int run_orphan(void *given)
{
    const struct rb_orphan *o = given;

    o->run(o->given);
    syscall(SYS_exit, 0);
    return 0;
}

static int make_process(struct rb_orphan *o)
{
    o->living = 1;
    const int process = clone(run_orphan, o->stack + RB_ORPHAN_STACK, CLONE_VM | CLONE_CHILD_CLEARTID, o,
                              NULL, NULL, &o->living);
    if (process < 0)
        o->living = 0;
    return process;
}

// Runs in a process that ends at once, so that the orphan has no parent here.
static int run_first(void *given)
{
    make_process(given);
    syscall(SYS_exit, 0);
    return 0;
}

// Returns true if an orphan becomes a child of this process: then its end would be announced.
static bool adopts_orphans(void)
{
    int subreaper = 0;

    return syscall(SYS_getpid) == 1 ||
           (syscall(SYS_prctl, PR_GET_CHILD_SUBREAPER, &subreaper) == 0 && subreaper);
}

long rb_orphan_start(struct rb_orphan *o)
{
    uint64_t all = ~(uint64_t)0, before;
    long child = 0;

    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, 8); // no handler runs there, and ^C is not for it
    o->is_child = adopts_orphans();
    if (o->is_child)
        child = make_process(o);
    else
        rb_orphan_reap(clone(run_first, o->first_stack + RB_ORPHAN_STACK, CLONE_VM | CLONE_VFORK, o));
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, 8);
    return child > 0 ? child : 0;
}
