// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Alternate signal stacks of the program. They may be as small as MINSIGSTKSZ, and the kernel's frame takes
// most of that. Checking an access takes more than the rest, and one of our own signals adds another frame.
// So for a stack below ENOUGH the kernel gets one of ours, and the program is told of its own.
//
// Invariant: a thread's `ours` is mapped from its first such stack until the thread ends, and longer if it
// ends on it.
#include <sys/syscall.h>

#include "base/pages.h"
#include "run/access/history.h"
#include "run/intercept/intercept.h"
#include "run/intercept/signals/signals.h"

enum { ENOUGH = 16 << 10, OURS = 64 << 10 };

static RB_TLS char *ours;
static RB_TLS stack_t asked; // while the kernel has ours

static bool is_ours(const stack_t *s)
{
    return ours && s->ss_sp == ours && !(s->ss_flags & SS_DISABLE);
}

// Installs our stack for the program's, which the kernel has accepted and which is too small.
static void replace_stack(const stack_t *small)
{
    if (!ours) {
        void *map = rb_pages_map(OURS);
        if (!map)
            return;
        ours = map;
    }
    const stack_t s = {.ss_sp = ours, .ss_flags = small->ss_flags, .ss_size = OURS};
    if (RB_REAL(sigaltstack)(&s, NULL) == 0)
        asked = *small;
}

RB_INTERCEPT(int, sigaltstack, (const stack_t *new, stack_t *old))
{
    uint64_t all = ~(uint64_t)0, before;
    stack_t was;

    if (!rb_self_get())
        return RB_REAL(sigaltstack)(new, old);
    const int saved = errno;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, 8); // no handler runs on the small one
    const int r = RB_REAL(sigaltstack)(new, &was);
    const int error = errno;
    if (r == 0) {
        const stack_t given = new ? *new : (stack_t){.ss_flags = SS_DISABLE}; // `old` may be the same
        const bool told = is_ours(&was);
        const int on = was.ss_flags & SS_ONSTACK;
        if (old)
            *old = told ? asked : was;
        if (old && told)
            old->ss_flags |= on;
        if (!(given.ss_flags & SS_DISABLE) && given.ss_size < ENOUGH)
            replace_stack(&given);
    }
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, 8);
    errno = r ? error : saved;
    return r;
}

void rb_signal_stack_end(struct rb_self *me)
{
    const stack_t none = {.ss_flags = SS_DISABLE};

    if (!ours || RB_REAL(sigaltstack)(&none, NULL))
        return;
    rb_accesses_forget(me, (uintptr_t)ours, OURS);
    munmap(ours, OURS);
    ours = NULL;
}
