// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads of the program: their records, their creation and end, their stacks.
//
// The creator makes the record, so that a report can say where a thread was created. A key's destructor on
// the thread itself gives it up; from then on the thread is not watched. Threads created in other ways
// (clone, before us) have none: they are neither sampled nor taken for the second of a pair.
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include "base/pages.h"
#include "watch/agent/agent.h"

#define RECORDS 16384u
#define TRIES   1000u

static struct rb_watched *pool, *unused;
static uint32_t used, ids, alive;
static rb_spin lock; // tried for a limited time: a handler of the program may run on top of its holder
static pthread_key_t key;
static bool key_made;

// ---- stacks --------------------------------------------------------------------------------------------

// Walks the stack; `top` is the name of the innermost frame in the report. On a stack that is not the
// thread's own (a signal stack, a coroutine) only the current page is sure to be there.
void rb_trail_from(struct rb_trail *t, struct rb_unwind_frame f, uintptr_t top)
{
    const struct rb_watched *me = rb_agent_me;
    const bool known = me && f.sp >= me->lo && f.sp < me->hi;
    const struct rb_unwind_bounds bounds = {known ? me->lo : f.sp & ~(uintptr_t)4095,
                                            known ? me->hi : ((f.sp - 1) | 4095) + 1};

    t->count = 0;
    for (;;) {
        const uint64_t rule = rb_unwind_rule(f.pc);
        if (t->count && rb_rule_kind(rule) == RB_RULE_NOWHERE)
            break;
        t->pc[t->count] = t->count ? f.pc : top;
        t->count++;
        if (t->count == RB_TRAIL_FRAMES || !rb_unwind_step(&f, rule, &bounds))
            break;
    }
}

static void find_own_stack(struct rb_watched *me, size_t bytes)
{
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0), page = 4096;
    struct rlimit limit;

    if (me->os_id == (int32_t)syscall(SYS_getpid)) {
        const char *name = (const char *)getauxval(AT_EXECFN);
        if (!name || (uintptr_t)name < here)
            return;
        while (*name)
            name++;
        me->hi = ((uintptr_t)name + page) & ~(page - 1);
        if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur > ((size_t)1 << 30))
            limit.rlim_cur = (size_t)8 << 20;
        me->lo = me->hi - limit.rlim_cur;
        return;
    }
    const uintptr_t top = ((uintptr_t)__builtin_thread_pointer() + page) & ~(page - 1);
    if (top < here || top - here > ((size_t)1 << 30))
        return;
    me->hi = top;
    me->lo = bytes && bytes < ((size_t)1 << 30) ? top - bytes : here & ~(page - 1);
    if (me->lo > here)
        me->lo = here & ~(page - 1);
}

uint32_t rb_thread_of(uintptr_t address)
{
    const uint32_t n = rb_load_acquire(&used);

    for (uint32_t i = 0; i < n && i < RECORDS; i++)
        if (pool[i].os_id && address >= pool[i].lo && address < pool[i].hi)
            return pool[i].id;
    return RB_NO_THREAD;
}

// ---- records -------------------------------------------------------------------------------------------

static bool take_lock(void)
{
    for (unsigned i = 0; i < TRIES; i++) {
        if (rb_spin_try(&lock))
            return true;
        syscall(SYS_sched_yield);
    }
    return false;
}

static struct rb_watched *new_record(void)
{
    struct rb_watched *r = NULL;

    if (!pool || !take_lock())
        return NULL;
    if (unused) {
        r = unused;
        unused = r->next;
    } else if (used < RECORDS) {
        r = &pool[used];
        rb_store_release(&used, used + 1);
    }
    if (r) {
        r->id = ids++;
        alive++;
    }
    rb_spin_unlock(&lock);
    return r;
}

static void free_record(struct rb_watched *r)
{
    __asm__ volatile("incq %0" : "+m"(r->clock)::"memory");
    if (!take_lock())
        return; // its record is lost, which costs its bytes
    r->os_id = 0;
    r->next = unused;
    unused = r;
    alive--;
    rb_spin_unlock(&lock);
}

uint32_t rb_threads_alive(void)
{
    return rb_load_relaxed(&alive);
}

// Gives up the thread's record in the last round of destructors, so that the program's destructors are
// still counted.
static void end_thread(void *given)
{
    struct rb_watched *me = given;
    static RB_TLS unsigned rounds;

    if (++rounds < PTHREAD_DESTRUCTOR_ITERATIONS - 1 && !pthread_setspecific(key, me))
        return;
    rb_agent_me = NULL;
    free_record(me);
}

static void begin_thread(struct rb_watched *me)
{
    me->os_id = (int32_t)syscall(SYS_gettid);
    find_own_stack(me, (size_t)me->hi);
    rb_agent_me = me;
    rb_traps_hide(me->trap_hidden);
    rb_traps_unblock();
    if (key_made)
        RB_NEXT(pthread_setspecific)(key, me);
}

void rb_threads_start(void)
{
    const int saved = errno;

    if (!pool) {
        pool = rb_pages_map(RECORDS * sizeof(*pool));
        key_made = pthread_key_create(&key, end_thread) == 0;
    }
    struct rb_watched *me = rb_agent_me ? NULL : new_record();
    if (me) {
        me->parent = RB_NO_THREAD;
        me->hi = 0;
        begin_thread(me);
    }
    errno = saved;
}

// Frees the records of all other threads: the child has one thread, and its record stays.
void rb_threads_after_fork(void)
{
    lock = 0;
    if (!pool)
        return;
    unused = NULL;
    alive = rb_agent_me ? 1 : 0;
    for (uint32_t i = 0; i < used; i++) {
        struct rb_watched *r = &pool[i];
        if (r == rb_agent_me) {
            r->os_id = (int32_t)syscall(SYS_gettid);
            continue;
        }
        r->clock++;
        r->os_id = 0;
        r->next = unused;
        unused = r;
    }
}

// ---- creation ------------------------------------------------------------------------------------------

// Stacks end before these (unwind.h).
#define BASE __attribute__((section(RB_THREAD_BASE), noinline))

BASE static void *run_thread(void *given)
{
    struct rb_watched *me = given;

    begin_thread(me);
    void *result = me->function(me->argument);
    __asm__ volatile("" ::: "memory"); // not the last call: the frame stays
    return result;
}

BASE static int run_c11(void *given)
{
    struct rb_watched *me = given;

    begin_thread(me);
    int result = me->function_c11(me->argument);
    __asm__ volatile("" ::: "memory");
    return result;
}

static size_t stack_bytes(const pthread_attr_t *attr)
{
    pthread_attr_t standard;
    size_t bytes = 0;

    if (attr) {
        pthread_attr_getstacksize(attr, &bytes);
    } else if (!pthread_attr_init(&standard)) {
        pthread_attr_getstacksize(&standard, &bytes);
        pthread_attr_destroy(&standard);
    }
    return bytes;
}

static struct rb_watched *prepare_child(const pthread_attr_t *attr, const uintptr_t *frame)
{
    const int saved = errno;
    struct rb_watched *child;

    rb_agent_start();
    child = rb_load_relaxed(&rb_agent_on) ? new_record() : NULL;
    if (child) {
        const struct rb_unwind_frame caller = {frame[1], (uintptr_t)(frame + 2), frame[0]};
        child->parent = rb_agent_me ? rb_agent_me->id : RB_NO_THREAD;
        child->trap_hidden = rb_traps_hidden();
        child->hi = stack_bytes(attr); // until it begins
        child->lo = 0;
        rb_trail_from(&child->created, caller, caller.pc);
    }
    errno = saved;
    return child;
}

RB_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
                             void *argument)
{
    rb_agent_bump();
    struct rb_watched *child = prepare_child(attr, __builtin_frame_address(0));
    if (!child)
        return RB_NEXT(pthread_create)(thread, attr, start, argument);
    child->function = start;
    child->argument = argument;
    const int r = RB_NEXT(pthread_create)(thread, attr, run_thread, child);
    if (r)
        free_record(child);
    return r;
}

RB_EXPORT int thrd_create(thrd_t *thread, thrd_start_t start, void *argument)
{
    rb_agent_bump();
    struct rb_watched *child = prepare_child(NULL, __builtin_frame_address(0));
    if (!child)
        return RB_NEXT(thrd_create)(thread, start, argument);
    child->function_c11 = start;
    child->argument = argument;
    const int r = RB_NEXT(thrd_create)(thread, run_c11, child);
    if (r != thrd_success)
        free_record(child);
    return r;
}

// ---- once ----------------------------------------------------------------------------------------------

// The function's effects are released when it ends, inside libc. The clock is incremented then, before libc
// lets other threads pass.
static RB_TLS void (*once_function)(void);

static void run_once(void)
{
    void (*function)(void) = once_function;

    function();
    rb_agent_bump();
}

RB_EXPORT int pthread_once(pthread_once_t *control, void (*function)(void))
{
    void (*before)(void) = once_function;

    rb_agent_bump();
    once_function = function;
    const int r = RB_NEXT(pthread_once)(control, run_once);
    once_function = before;
    return r;
}

RB_EXPORT void call_once(once_flag *control, void (*function)(void))
{
    void (*before)(void) = once_function;

    rb_agent_bump();
    once_function = function;
    RB_NEXT(call_once)(control, run_once);
    once_function = before;
}
