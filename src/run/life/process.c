// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The life of the process: loading, fork, libraries that come and go, the end.
#include <link.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "base/pages.h"
#include "inproc/unwind.h"
#include "run/access/history.h"
#include "run/core/upcalls.h"
#include "run/intercept/callers.h"
#include "run/intercept/descriptors.h"
#include "run/intercept/heap.h"
#include "run/intercept/intercept.h"
#include "run/intercept/lifecycle.h"
#include "run/intercept/signals/signals.h"
#include "run/life/parts.h"
#include "run/sites/sites.h"
#include "run/sync/sync.h"
#include "run/sync/thread.h"
#include "run/watchpoint/watchpoints.h"

// ---- start and end -------------------------------------------------------------------------------------

// Returns true if a module asks for the hooks: it is instrumented, and the runtime starts before it does.
static int look_for_hooks(struct dl_phdr_info *info, size_t size, void *found)
{
    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            *(bool *)found |= rb_asks_for_hooks((const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
                                                info->dlpi_addr);
    return *(bool *)found;
}

static __attribute__((constructor(101))) void start_on_load(void)
{
    bool found = false;

    dl_iterate_phdr(look_for_hooks, &found);
    if (found)
        rb_init(NULL);
}

static void finish_last(void *unused)
{
    const int status = rb_finish(-1);

    (void)unused;
    if (status == -1)
        return;
    fflush(NULL); // as exit() would
    syscall(SYS_exit_group, status);
}

// Registers the last step: destructors of libraries are still to come, and functions registered now run
// after them.
static __attribute__((destructor(101))) void register_end(void)
{
    if (RB_REAL(__cxa_atexit)(finish_last, NULL, NULL))
        finish_last(NULL);
}

RB_INTERCEPT(void, _exit, (int status))
{
    syscall(SYS_exit_group, rb_finish(status));
    __builtin_unreachable();
}

RB_INTERCEPT(void, _Exit, (int status))
{
    syscall(SYS_exit_group, rb_finish(status));
    __builtin_unreachable();
}

static void finish_quick_exit(void *unused)
{
    const int status = rb_finish(-1);

    (void)unused;
    if (status != -1)
        syscall(SYS_exit_group, status);
}

static RB_TLS struct rb_self *forking; // inside the guard during a fork

// ---- fork ----------------------------------------------------------------------------------------------
// The child has one thread and a copy of everything. The work of the other threads on shared state is
// unknown, so it starts anew: accesses recorded before cannot race with those of the child alone.
//
// By pthread_atfork, registered before all others: so our `prepare` runs after all others, and ours is the
// first handler in the child. Other handlers use locks and memory like any code.

static void prepare_fork(void)
{
    rb_before_child();
    forking = rb_enter();
    rb_sites_hold();
}

static void resume_parent(void)
{
    rb_sites_let();
    if (forking)
        rb_leave(forking);
    forking = NULL;
}

static void restart_child(void)
{
    const bool deferred = forking && forking->deferred;
    const sigset_t mask = forking ? forking->deferred_mask : (sigset_t){{0}};

    forking = NULL;
    rb_init_after_fork();
    if (deferred)
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
}

void rb_watch_fork(void)
{
    pthread_atfork(prepare_fork, resume_parent, restart_child);
}

// Registers before all others, so that ours is the last handler that quick_exit calls.
void rb_watch_quick_exit(void)
{
    RB_REAL(__cxa_at_quick_exit)(finish_quick_exit, NULL);
}

// Runs behind the program's handlers of exit: the destructors of libraries follow.
static void acquire_libraries(void *unused)
{
    struct rb_self *me = rb_enter();

    (void)unused;
    if (!me)
        return;
    rb_libraries_acquire(me);
    rb_leave(me);
}

void rb_watch_exit(void)
{
    RB_REAL(__cxa_atexit)(acquire_libraries, NULL, NULL);
}

static void await_others(void *unused)
{
    const int saved = errno;

    (void)unused;
    rb_threads_await_others(rb_options.atexit_sleep_ms);
    errno = saved;
}

void rb_watch_exit_to_wait(void)
{
    static bool watched;

    if (rb_options.atexit_sleep_ms && rb_process.on && !rb_exchange_relaxed(&watched, true))
        RB_REAL(__cxa_atexit)(await_others, NULL, NULL);
}

static char fork_handlers; // its address stands for all of them

// Called by pthread_atfork.
RB_INTERCEPT(int, __register_atfork,
             (void (*prepare)(void), void (*parent)(void), void (*child)(void), void *dso))
{
    RB_BESIDE((void)0, rb_on_release(me, (uintptr_t)&fork_handlers));
    return RB_REAL(__register_atfork)(prepare, parent, child, dso);
}

static pid_t fork_after_registered(void)
{
    RB_BESIDE((void)0, rb_on_acquire(me, (uintptr_t)&fork_handlers));
    return RB_REAL(fork)();
}

RB_INTERCEPT(pid_t, fork, (void))
{
    return fork_after_registered();
}

// Makes a fork. The child of vfork runs in its parent's memory: its closes and its end would be taken for
// the parent's. It may only exec or end, which the child of fork can as well.
RB_INTERCEPT(pid_t, vfork, (void))
{
    return fork_after_registered();
}

// fork for signal handlers: fork handlers do not run.
RB_INTERCEPT(pid_t, _Fork, (void))
{
    if (forking) // fork's own call, which the linker leads here in static programs
        return RB_REAL(_Fork)();
    prepare_fork();
    const pid_t child = RB_REAL(_Fork)();
    const int saved = errno;

    if (child == 0)
        restart_child();
    else
        resume_parent();
    errno = saved;
    return child;
}

// clone() with memory of its own is a fork, and its child begins in a function; no fork handlers run. One
// that shares memory is a thread of which the runtime is not told, or vfork.
struct begins {
    int (*function)(void *);
    void *argument;
};

static int begin_child(void *at)
{
    const struct begins *b = at;

    restart_child();
    return b->function(b->argument);
}

RB_INTERCEPT(int, clone, (int (*function)(void *), void *stack, int flags, void *argument, ...))
{
    struct begins begins = {function, argument};
    va_list list;

    va_start(list, argument);
    void *const parent_tid = va_arg(list, void *), *const tls = va_arg(list, void *),
                *const child_tid = va_arg(list, void *);
    va_end(list);
    if (flags & CLONE_VM || !function || !stack)
        return RB_REAL(clone)(function, stack, flags, argument, parent_tid, tls, child_tid);
    prepare_fork();
    const int child = RB_REAL(clone)(begin_child, stack, flags, &begins, parent_tid, tls, child_tid);
    const int saved = errno;
    resume_parent();
    errno = saved;
    return child;
}

#if defined(RB_TAKES_SYSCALL)
// Returns true if the word at the address can be read. The kernel reads a signal mask before it refuses the
// unknown way to set it.
static bool is_readable(uintptr_t address)
{
    const int saved = errno;
    const bool readable = syscall(SYS_rt_sigprocmask, -1, address, NULL, 8) != 0 && errno == EINVAL;

    errno = saved;
    return address && readable;
}

// Decides about a system call that makes a process or a thread (arch_syscall_x86_64.S). Returns the number
// of the call to make between prepare_fork and rb_process_by_number_done, or 0: the new one shares our
// memory, or has a thread pointer of its own, by which none of our variables can be found. Like vfork,
// SYS_vfork becomes a fork.
RB_HIDDEN long rb_process_by_number(long number, uintptr_t a);
RB_HIDDEN long rb_process_by_number(long number, uintptr_t a)
{
    uint64_t flags = number == SYS_clone ? a : 0;

    if (number == SYS_clone3) {
        if (!is_readable(a))
            return 0; // the kernel refuses
        __builtin_memcpy(&flags, (const void *)a, sizeof(flags));
    }
    if (flags & (CLONE_VM | CLONE_SETTLS))
        return 0;
    prepare_fork();
    return number == SYS_vfork ? SYS_fork : number;
}

// Ends the step that rb_process_by_number began, in both processes. Takes the kernel's result and returns
// libc's.
RB_HIDDEN long rb_process_by_number_done(long result);
RB_HIDDEN long rb_process_by_number_done(long result)
{
    const int saved = errno;

    if (result == 0)
        restart_child();
    else
        resume_parent();
    errno = result < 0 ? (int)-result : saved;
    return result < 0 ? -1 : result;
}
#endif

RB_INTERCEPT(int, system, (const char *command))
{
    rb_before_child();
    const int r = RB_REAL(system)(command);
    rb_after_child();
    return r;
}

// ---- libraries -----------------------------------------------------------------------------------------

// An unloaded library leaves memory and code that another may get next: both are forgotten. The loader
// unmaps without our munmap, so its list is compared before and after. If libraries came meanwhile, the
// same place may be another's already: then the whole history goes.

#define MOST_MODULES 512

struct range {
    uintptr_t from, to;
};

struct modules {
    unsigned count;
    unsigned long long added; // number of modules that the loader ever added
    struct range range[MOST_MODULES];
};

static struct range range_of(const struct dl_phdr_info *info)
{
    struct range r = {UINTPTR_MAX, 0};

    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD)
            continue;
        const uintptr_t start = info->dlpi_addr + p->p_vaddr;
        r.from = start < r.from ? start : r.from;
        r.to = start + p->p_memsz > r.to ? start + p->p_memsz : r.to;
    }
    return r;
}

static int list_module(struct dl_phdr_info *info, size_t size, void *list)
{
    struct modules *m = list;
    const struct range r = range_of(info);

    (void)size;
    m->added = info->dlpi_adds;
    if (m->count < MOST_MODULES && r.from < r.to)
        m->range[m->count] = r;
    m->count++;
    return 0;
}

static bool is_listed(const struct modules *m, uintptr_t from)
{
    for (unsigned i = 0; i < m->count && i < MOST_MODULES; i++)
        if (m->range[i].from == from)
            return true;
    return false;
}

static void forget_gone(struct rb_self *me, const struct modules *before, const struct modules *after)
{
    rb_unwind_forget();
    if (before->added != after->added || before->count > MOST_MODULES) {
        rb_lost_edge(me);
        rb_sites_forget(0, before->range[0].from); // all but the program's, which is the first
        rb_sites_forget(before->range[0].to, UINTPTR_MAX);
        return;
    }
    for (unsigned i = 0; i < before->count; i++)
        if (!is_listed(after, before->range[i].from)) {
            rb_sites_forget(before->range[i].from, before->range[i].to);
            rb_memory_new(me, before->range[i].from, before->range[i].to - before->range[i].from);
        }
}

RB_INTERCEPT(int, dlclose, (void *handle))
{
    const size_t bytes = 2 * sizeof(struct modules);
    struct modules *list = rb_pages_map(bytes);
    struct rb_self *me;

    rb_libraries_begin(true);
    if (list)
        dl_iterate_phdr(list_module, &list[0]);
    rb_sites_hold();
    const int r = RB_REAL(dlclose)(handle);
    const int saved = errno;
    if (list)
        dl_iterate_phdr(list_module, &list[1]);
    if ((me = rb_enter()) != NULL) {
        if (list) {
            forget_gone(me, &list[0], &list[1]);
        } else {
            rb_unwind_forget();
            rb_lost_edge(me);
            rb_sites_forget(0, UINTPTR_MAX);
        }
        rb_leave(me);
    } else {
        rb_sites_forget(0, UINTPTR_MAX);
    }
    rb_sites_let();
    if (list)
        syscall(SYS_munmap, list, bytes);
    rb_unseen_update();
    rb_libraries_end();
    errno = saved;
    return r;
}

// The loader maps a library into memory that libc has given back, without our mmap: the accesses known
// there are forgotten. New libraries are the last of its list. Their objects stay: constructors that ran
// before may have made threads.

struct newest {
    struct rb_self *me;
    unsigned count, old;
};

// Reads the count from the first module; instrumented files call this at the start of the program, each of
// them.
static int read_added(struct dl_phdr_info *info, size_t size, void *added)
{
    (void)size;
    *(unsigned long long *)added = info->dlpi_adds;
    return 1;
}

static int count_module(struct dl_phdr_info *info, size_t size, void *of)
{
    struct newest *n = of;

    (void)info;
    (void)size;
    n->count++;
    return 0;
}

static int forget_newest(struct dl_phdr_info *info, size_t size, void *of)
{
    struct newest *n = of;
    const struct range r = range_of(info);

    (void)size;
    if (n->old) {
        n->old--;
        return 0;
    }
    rb_collide_forget(r.from, r.to - r.from);
    rb_accesses_forget(n->me, r.from, r.to - r.from);
    return 0;
}

void rb_libraries_came(void)
{
    static unsigned long long known;
    unsigned long long added = 0;
    struct newest n = {NULL, 0, 0};

    if (!rb_process.on)
        return;
    dl_iterate_phdr(read_added, &added);
    const unsigned long long new = added - rb_exchange_relaxed(&known, added);
    if (new == 0 || (n.me = rb_enter()) == NULL)
        return;
    dl_iterate_phdr(count_module, &n);
    n.old = new < n.count ? n.count - (unsigned)new : 0;
    dl_iterate_phdr(forget_newest, &n);
    rb_leave(n.me);
    rb_unseen_update();
}
