// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The process confines itself by a filter of system calls (seccomp).
#include "run/intercept/lifecycle.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inproc/spin.h"
#include "run/core/ticker.h"
#include "run/core/upcalls.h"
#include "run/intercept/descriptors.h"
#include "run/record/record.h"
#include "run/sampler/adaptive/adaptive.h"
#include "run/sampler/sampling.h"
#include "run/sites/sites.h"
#include "run/sync/thread.h"
#include "run/watchpoint/watchpoints.h"

// Leads calls to stubs while pages may still be made writable.
static void begin_unseen(void)
{
    struct rb_self *me = rb_enter();

    if (!me)
        return;
    rb_unseen_begin(me);
    rb_leave(me);
}

void rb_sandbox_begins(void)
{
    const int saved = errno;

    if (!rb_process.on || rb_load_acquire(&rb_host.sandboxed))
        return;
    rb_reporter_prepare();
    begin_unseen();
    rb_watchpoints_stop("the program confines itself (seccomp)");
    rb_rmw_end_traps();
    rb_ticker_end();
    if (rb_process.by_cost && !rb_recording)
        rb_adaptive_pause();
    rb_fd_share_all();
    rb_spin_never_yields = true;
    rb_arena_reserve(&rb_process.arena);
    rb_arena_reserve(&rb_host.kept);
    rb_arena_reserve(&rb_sampling_process.arena);
    rb_sites_hold(); // no thread is between two calls of mprotect
    rb_store_seq_cst(&rb_host.sandboxed, true);
    rb_sites_let();
    errno = saved;
}

// Returns true if the call installs a filter. A program that asks whether filters are known passes none.
static bool call_filters(long number, long a, long b, long c)
{
    if (number == SYS_prctl)
        return a == PR_SET_SECCOMP && b == SECCOMP_MODE_FILTER && c;
    return number == SYS_seccomp && a == SECCOMP_SET_MODE_FILTER && c;
}

// In strict mode a thread may read, write and end, and nothing else: it leaves the runtime.
static bool call_is_strict(long number, long a, long b)
{
    if (number == SYS_prctl)
        return a == PR_SET_SECCOMP && b == SECCOMP_MODE_STRICT;
    return number == SYS_seccomp && a == SECCOMP_SET_MODE_STRICT;
}

void rb_sandbox_call(long number, long a, long b, long c)
{
    if (call_filters(number, a, b, c)) {
        rb_sandbox_begins();
    } else if (call_is_strict(number, a, b)) {
        rb_sandbox_begins();
        rb_thread_retire();
    }
}

// The program's syscall(SYS_seccomp, ...) and syscall(SYS_prctl, ...): arch_syscall_*.S.
RB_HIDDEN long rb_filter_by_number(long number, long a, long b, long c, long d, long e);
long rb_filter_by_number(long number, long a, long b, long c, long d, long e)
{
    rb_sandbox_call(number, a, b, c);
    return syscall(number, a, b, c, d, e);
}
