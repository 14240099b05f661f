// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pthread functions that are no rows: creation, conditions, once, exit handlers, C++ guards.
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "inproc/modules.h"
#include "run/core/upcalls.h"
#include "run/intercept/callers.h"
#include "run/intercept/intercept.h"
#include "run/intercept/lifecycle.h"
#include "run/intercept/signals/signals.h"
#include "run/sync/sync.h"
#include "run/sync/thread.h"

// ---- creation ------------------------------------------------------------------------------------------

struct start {
    void *(*function)(void *);
    void *argument;
    struct rb_self *self;
    sigset_t mask; // the thread's signal mask at its start
    bool masked;   // the mask is the creator's, not one of the attribute's
    bool trap_hidden;
};

// In a section of its own: stacks end before it (unwind.c).
__attribute__((section(RB_THREAD_BASE))) static void *run_thread(void *given)
{
    // First of all: later lines may be compiled to calls of interceptors.
    rb_self_tls = ((struct start *)given)->self;
    rb_self_tls->busy = 1;
    const struct start s = *(struct start *)given;

    rb_arena_free(&rb_process.arena, given, sizeof(s));
    rb_thread_begin(s.self);
    rb_traps_hide(s.trap_hidden);
    if (s.masked)
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, &s.mask, NULL, 8);
    else
        rb_traps_unblock();
    return s.function(s.argument);
}

// Reads the bounds of the thread's stack, as far as they are known before it runs.
// libc is not asked, as it would use the heap.
static void read_attributes(struct rb_self *child, const pthread_attr_t *attr)
{
    pthread_attr_t standard;
    int detached = 0;
    void *low;

    if (!attr) {
        pthread_attr_init(&standard);
        pthread_attr_getstacksize(&standard, &child->stack_bytes);
        pthread_attr_destroy(&standard);
        return;
    }
    if (!pthread_attr_getdetachstate(attr, &detached))
        child->detached = detached == PTHREAD_CREATE_DETACHED;
    if (!pthread_attr_getstack(attr, &low, &child->stack_bytes) && low) {
        child->walk.stack_lo = (uintptr_t)low;
        child->walk.stack_hi = (uintptr_t)low + child->stack_bytes;
    }
    pthread_attr_getstacksize(attr, &child->stack_bytes);
}

// Blocks that libc frees meanwhile belong to stacks that it keeps.
static int create_real(struct rb_self *me, pthread_t *thread, const pthread_attr_t *attr,
                       void *(*function)(void *), void *argument)
{
    if (me)
        me->creating = true;
    const int r = RB_REAL(pthread_create)(thread, attr, function, argument);
    if (me)
        me->creating = false;
    return r;
}

// Creates a thread with a state made here, so that it starts with its creator's clock.
static int create_thread(pthread_t *thread, const pthread_attr_t *attr, void *(*function)(void *),
                         void *argument, uintptr_t pc)
{
    rb_watch_exit_to_wait();
    if (rb_libraries_is_inside()) // a constructor of a library that is not listed yet
        rb_unseen_update();
    struct rb_self *me = rb_enter(), *child = NULL;
    struct start *s = NULL;

    if (me) {
        rb_unseen_begin(me);
        s = rb_arena_alloc(&rb_process.arena, sizeof(*s));
        const rb_stack created = rb_stack_here(&me->walk, pc, rb_process.stack_depth);
        child = s ? rb_thread_new(me, created) : NULL;
        rb_unseen_creates(me, child, created);
        if (!child)
            rb_lost_edge(me);
        else
            read_attributes(child, attr);
        rb_leave(me);
    }
    if (!child) {
        if (s)
            rb_arena_free(&rb_process.arena, s, sizeof(*s));
        return create_real(me, thread, attr, function, argument);
    }
    // Signals are blocked until the thread has its state. Else a handler on it would get a state of its
    // own, without the creator's clock.
    sigset_t all, of_attr;
    *s = (struct start){.function = function,
                        .argument = argument,
                        .self = child,
                        .masked = !attr || pthread_attr_getsigmask_np(attr, &of_attr),
                        .trap_hidden = rb_traps_hidden()};
    sigfillset(&all);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &s->mask, 8);
    const sigset_t mask = s->mask; // `s` belongs to the thread once it runs
    const int r = create_real(me, thread, attr, run_thread, s);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
    if ((me = rb_enter()) != NULL) {
        if (r) {
            rb_arena_free(&rb_process.arena, s, sizeof(*s));
            rb_thread_discard(me, child);
        } else {
            rb_thread_created(me, child, *thread);
        }
        rb_leave(me);
    }
    return r;
}

RB_INTERCEPT(int, pthread_create,
             (pthread_t * thread, const pthread_attr_t *attr, void *(*start)(void *), void *argument))
{
    return create_thread(thread, attr, start, argument, RB_PC);
}

// libc's thrd_create makes its thread without calling pthread_create by its name; the result is the same.
RB_INTERCEPT(int, thrd_create, (thrd_t * thread, thrd_start_t start, void *argument))
{
    const int r = create_thread(thread, NULL, (void *(*)(void *))(void (*)(void))start, argument, RB_PC);
    return r == 0 ? thrd_success : r == ENOMEM || r == EAGAIN ? thrd_nomem : thrd_error;
}

// ---- joining -------------------------------------------------------------------------------------------

static struct rb_self *begin_join(pthread_t handle)
{
    struct rb_self *me = rb_enter(), *t = NULL;

    if (me) {
        t = rb_thread_joining(handle);
        rb_leave(me);
    }
    return t;
}

static void end_join(struct rb_self *t, pthread_t handle, bool done)
{
    const int saved = errno;
    struct rb_self *me = rb_enter();

    if (me) {
        if (done)
            rb_thread_joined(me, t, handle);
        else if (t)
            rb_thread_not_joined(t);
        rb_leave(me);
    }
    errno = saved;
}

#define RB_JOIN_BY(name, params, args, success) \
    RB_INTERCEPT(int, name, params)             \
    {                                           \
        struct rb_self *joined = begin_join(t); \
        const int r = RB_REAL(name) args;       \
        end_join(joined, t, r == success);      \
        return r;                               \
    }
RB_JOIN_BY(pthread_join, (pthread_t t, void **result), (t, result), 0)
RB_JOIN_BY(pthread_tryjoin_np, (pthread_t t, void **result), (t, result), 0)
RB_JOIN_BY(pthread_timedjoin_np, (pthread_t t, void **result, const struct timespec *w), (t, result, w), 0)
RB_JOIN_BY(pthread_clockjoin_np, (pthread_t t, void **result, clockid_t c, const struct timespec *w),
           (t, result, c, w), 0)
RB_JOIN_BY(thrd_join, (thrd_t t, int *result), (t, result), thrd_success)

// ---- conditions ----------------------------------------------------------------------------------------
// A wait unlocks the mutex and locks it again, also when the thread is cancelled in it. The condition
// itself orders nothing: a wake-up may be spurious.

struct wait {
    void *mutex;
    int result; // EOWNERDEAD: the last owner died with it locked; not known when the thread is cancelled
};

static void end_wait(void *given)
{
    const struct wait *w = given;

    RB_BESIDE((void)0, rb_on_robust_lock(me, (uintptr_t)w->mutex, w->result));
}

static void begin_wait(void *mutex)
{
    struct rb_self *me = rb_enter();

    if (me) {
        rb_on_unlock(me, (uintptr_t)mutex);
        rb_leave(me);
    }
}

#define RB_WAIT_ON(name, params, args)      \
    RB_INTERCEPT(int, name, params)         \
    {                                       \
        struct wait w = {m, 0};             \
        RB_TOUCH(RB_HOW_ATOMIC, c, 1);      \
        begin_wait(m);                      \
        pthread_cleanup_push(end_wait, &w); \
        w.result = RB_REAL(name) args;      \
        pthread_cleanup_pop(1);             \
        return w.result;                    \
    }
RB_WAIT_ON(pthread_cond_wait, (pthread_cond_t * c, pthread_mutex_t *m), (c, m))
RB_WAIT_ON(pthread_cond_timedwait, (pthread_cond_t * c, pthread_mutex_t *m, const struct timespec *t),
           (c, m, t))
RB_WAIT_ON(pthread_cond_clockwait,
           (pthread_cond_t * c, pthread_mutex_t *m, clockid_t k, const struct timespec *t), (c, m, k, t))
RB_WAIT_ON(cnd_wait, (cnd_t * c, mtx_t *m), (c, m))
RB_WAIT_ON(cnd_timedwait, (cnd_t * c, mtx_t *m, const struct timespec *t), (c, m, t))

// ---- once ----------------------------------------------------------------------------------------------
// The program's function runs inside ours, which releases at its end; every thread that returns has
// acquired. If an exception leaves the function, it runs again after the failed call. That failure is not
// seen, so an edge is lost when the function begins again.

struct once {
    void (*function)(void);
    void *control;
    struct once *outer;
};
static RB_TLS struct once *running_once;

static struct {
    rb_spin lock;
    bool more;       // the list was full once
    void *begun[64]; // begun and not ended
} onces;

// Replaces `old` in the list by `new`, if there is room. Returns true if `old` was in the list.
static bool change_onces(void *old, void *new)
{
    bool was = false;

    rb_spin_lock(&onces.lock);
    for (unsigned i = 0; i < RB_LENGTH(onces.begun) && !was; i++)
        if (onces.begun[i] == old) {
            onces.begun[i] = new;
            was = true;
        }
    rb_spin_unlock(&onces.lock);
    return was;
}

// Inside the guard.
static void begin_once(struct rb_self *me, void *control)
{
    if (change_onces(control, control) || onces.more)
        rb_lost_edge(me);
    else
        onces.more = !change_onces(NULL, control);
}

static void release_for_others(void *control)
{
    RB_BESIDE((void)0, rb_on_release(me, (uintptr_t)control));
}

static void acquire_from_others(void *control)
{
    RB_BESIDE((void)0, rb_on_acquire(me, (uintptr_t)control));
}

static void run_once(void)
{
    struct once *o = running_once;

    running_once = o->outer;
    RB_BESIDE((void)0, begin_once(me, o->control));
    o->function();
    RB_BESIDE((void)0, change_onces(o->control, NULL); rb_on_release(me, (uintptr_t)o->control));
}

RB_INTERCEPT(int, pthread_once, (pthread_once_t * control, void (*function)(void)))
{
    struct once o = {function, control, running_once}, *outer = running_once;

    running_once = &o;
    const int r = RB_REAL(pthread_once)(control, run_once);
    running_once = outer;
    acquire_from_others(control);
    return r;
}

RB_INTERCEPT(void, call_once, (once_flag * flag, void (*function)(void)))
{
    struct once o = {function, flag, running_once}, *outer = running_once;

    running_once = &o;
    RB_REAL(call_once)(flag, run_once);
    running_once = outer;
    acquire_from_others(flag);
}

// ---- C++ static initialisation -------------------------------------------------------------------------
// Itanium C++ ABI 3.3.3. Byte 0 of the guard: initialised. Byte 1 here: a thread is
// initialising. Byte 2: threads sleep. Implemented in full, because the real functions may be in
// a library that only a plugin has loaded.

enum { GUARD_DONE = 1, GUARD_BUSY = 1 << 8, GUARD_SLEEPERS = 1 << 16 };

RB_WEAK int __cxa_guard_acquire(uint32_t *guard);
RB_WEAK int __cxa_guard_acquire(uint32_t *guard)
{
    uint32_t seen = rb_load_acquire(guard);

    while (!(seen & GUARD_DONE)) {
        if (!(seen & GUARD_BUSY)) {
            if (rb_cas_strong_acq_rel(guard, &seen, seen | GUARD_BUSY)) {
                acquire_from_others(guard); // they tried, and threw
                return 1;
            }
            continue;
        }
        if (!(seen & GUARD_SLEEPERS) && !rb_cas_strong_acq_rel(guard, &seen, seen | GUARD_SLEEPERS))
            continue;
        syscall(SYS_futex, guard, FUTEX_WAIT_PRIVATE, seen | GUARD_SLEEPERS, NULL, NULL, 0);
        seen = rb_load_acquire(guard);
    }
    acquire_from_others(guard);
    return 0;
}

static void guard_leave(uint32_t *guard, uint32_t value)
{
    release_for_others(guard);
    const uint32_t before = rb_exchange_acq_rel(guard, value);

    if (before & GUARD_SLEEPERS)
        syscall(SYS_futex, guard, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

RB_WEAK void __cxa_guard_release(uint32_t *guard);
RB_WEAK void __cxa_guard_release(uint32_t *guard)
{
    guard_leave(guard, GUARD_DONE);
}

RB_WEAK void __cxa_guard_abort(uint32_t *guard);
RB_WEAK void __cxa_guard_abort(uint32_t *guard)
{
    guard_leave(guard, 0);
}

// ---- exit handlers: an event before a handler's registration comes before its call ---------------------

static char exit_handlers; // the address is the sync object of all of them

struct handler {
    void (*function)(void *);
    void (*with_status)(int, void *);
    void *argument;
};

static struct handler *new_handler(void)
{
    struct rb_self *me = rb_enter();
    struct handler *h = NULL;

    if (!me)
        return NULL;
    h = rb_arena_alloc(&rb_host.kept, sizeof(*h));
    rb_on_release(me, (uintptr_t)&exit_handlers);
    rb_leave(me);
    return h;
}

// Acquires the registration of the handler, and the libraries that other threads have used and closed.
static void begin_handler(void)
{
    RB_BESIDE((void)0, rb_on_acquire(me, (uintptr_t)&exit_handlers); rb_libraries_acquire(me));
}

static void run_handler(void *given)
{
    const struct handler h = *(struct handler *)given;

    begin_handler();
    h.function(h.argument);
}

static void run_with_status(int status, void *given)
{
    const struct handler h = *(struct handler *)given;

    begin_handler();
    h.with_status(status, h.argument);
}

RB_INTERCEPT(int, __cxa_atexit, (void (*function)(void *), void *argument, void *dso))
{
    struct handler *h = new_handler();

    if (!h)
        return RB_REAL(__cxa_atexit)(function, argument, dso);
    *h = (struct handler){function, NULL, argument};
    return RB_REAL(__cxa_atexit)(run_handler, h, dso);
}

RB_INTERCEPT(int, on_exit, (void (*function)(int, void *), void *argument))
{
    struct handler *h = new_handler();

    if (!h)
        return RB_REAL(on_exit)(function, argument);
    *h = (struct handler){NULL, function, argument};
    return RB_REAL(on_exit)(run_with_status, h);
}

// libc passes no argument to the handlers of at_quick_exit, so they cannot be told apart.
RB_INTERCEPT(int, __cxa_at_quick_exit, (void (*function)(void *), void *dso))
{
    release_for_others(&exit_handlers);
    return RB_REAL(__cxa_at_quick_exit)(function, dso);
}

RB_INTERCEPT(void, quick_exit, (int status))
{
    acquire_from_others(&exit_handlers);
    RB_REAL(quick_exit)(status);
    __builtin_unreachable();
}

#if !defined(RB_STATIC)
// Runs a function given to atexit: it has no argument, and its library may be unloaded.
static void run_atexit(void *given)
{
    const struct handler h = *(struct handler *)given;
    struct rb_module_map file;

    begin_handler();
    if (rb_module_find((uintptr_t)h.argument, &file))
        ((void (*)(void))(uintptr_t)h.argument)();
}

// libc's atexit is part of each file that calls it. libtsan has one too, so programs
// linked with libtsan have none of their own.
RB_WEAK int atexit(void (*function)(void));
RB_WEAK int atexit(void (*function)(void))
{
    struct handler *h = new_handler();

    if (!h)
        return RB_REAL(__cxa_atexit)((void (*)(void *))(void (*)(void))function, NULL, NULL);
    *h = (struct handler){NULL, NULL, (void *)(uintptr_t)function};
    return RB_REAL(__cxa_atexit)(run_atexit, h, NULL);
}
#endif

// ---- names ---------------------------------------------------------------------------------------------

RB_INTERCEPT(int, prctl, (int what, ...))
{
    unsigned long word[4];
    va_list list;
    struct rb_self *me;

    va_start(list, what);
    for (int i = 0; i < 4; i++)
        word[i] = va_arg(list, unsigned long);
    va_end(list);
    rb_sandbox_call(SYS_prctl, what, (long)word[0], (long)word[1]);
    const int r = RB_REAL(prctl)(what, word[0], word[1], word[2], word[3]);
    const int saved = errno;
    if (r == 0 && what == PR_SET_NAME && (me = rb_enter()) != NULL) {
        rb_thread_name(me->id, (const char *)word[0]);
        rb_leave(me);
    }
    errno = saved;
    return r;
}
