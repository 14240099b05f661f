// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// libgomp's entry points except tasks (gomp_tasks.c): gcc calls them for every construct. A region runs a
// function of ours, which begins and ends the implicit task on each thread of the team. Its argument lives
// on the stack of the thread that starts the region and waits for its end.
#include "run/openmp/gomp.h"

#include <stdarg.h>

#include "run/intercept/heap.h"
#include "run/sync/sync.h"

RB_TLS int rb_gomp_inside;

// ---- regions -------------------------------------------------------------------------------------------

struct region {
    // The reductions of GOMP_parallel_reductions: libgomp reads their description at the start of the data.
    void *first;
    struct rb_omp_team team;
    rb_omp_fn fn;
    void *data;
    struct rb_omp_task *outer; // the starting thread's task
    struct region *below;      // old regions: started around this one by the same thread
};

static struct rb_omp_task *begin_implicit(struct rb_omp_team *team)
{
    const int saved = errno;
    struct rb_self *me = rb_enter();
    struct rb_omp_task *task = NULL;

    if (me) {
        task = rb_omp_implicit_begin(me, team);
        rb_leave(me);
    }
    errno = saved;
    return task;
}

// The thread goes on to the team's last barrier, where it may run tasks. It has no task of its own then.
static void end_implicit(struct rb_omp_task *task)
{
    const int saved = errno;
    struct rb_self *me = rb_enter();

    rb_omp_current = NULL;
    if (me) {
        rb_omp_implicit_end(me, task, true);
        rb_leave(me);
    }
    errno = saved;
}

static void run_region(void *given)
{
    struct region *r = given;
    const int depth = rb_gomp_call();
    struct rb_omp_task *task = begin_implicit(&r->team);

    rb_omp_current = task;
    r->fn(r->data);
    end_implicit(task);
    rb_gomp_resume(depth);
}

static void begin_region(struct region *r, rb_omp_fn fn, void *data)
{
    const int saved = errno;
    struct rb_self *me = rb_enter();

    *r = (struct region){.fn = fn, .data = data, .outer = rb_omp_current};
    if (me) {
        rb_omp_team_begin(me, &r->team);
        rb_leave(me);
    }
    errno = saved;
}

static void end_region(struct region *r)
{
    const int saved = errno;
    struct rb_self *me = rb_enter();

    rb_omp_current = r->outer;
    if (me) {
        rb_omp_team_end(me, &r->team);
        rb_leave(me);
    }
    errno = saved;
}

#define RB_OMP_REGION(name, params, args)    \
    RB_INTERCEPT(void, name, params)         \
    {                                        \
        struct region r;                     \
        if (!rb_gomp_tells()) {              \
            RB_OMP_REAL(name) args;          \
            return;                          \
        }                                    \
        begin_region(&r, fn, data);          \
        fn = run_region;                     \
        data = &r;                           \
        const bool inside = rb_gomp_enter(); \
        RB_OMP_REAL(name) args;              \
        rb_gomp_leave(inside);               \
        end_region(&r);                      \
    }

RB_INTERCEPT(unsigned, GOMP_parallel_reductions, (rb_omp_fn fn, void *data, unsigned n, unsigned flags))
{
    struct region r;

    if (!rb_gomp_tells())
        return RB_OMP_REAL(GOMP_parallel_reductions)(fn, data, n, flags);
    begin_region(&r, fn, data);
    r.first = *(void **)data;
    const bool inside = rb_gomp_enter();
    const unsigned threads = RB_OMP_REAL(GOMP_parallel_reductions)(run_region, &r, n, flags);
    rb_gomp_leave(inside);
    end_region(&r);
    return threads;
}

// ---- regions of gcc before 4.9: the starting thread calls its part itself ------------------------------

static RB_TLS struct region *old_regions;
static RB_TLS unsigned old_lost; // regions inside that have no record

static struct region *begin_old(rb_omp_fn fn, void *data)
{
    struct region *r = old_lost ? NULL : rb_omp_alloc(sizeof(*r));

    if (!r) { // the team would go unseen from now on
        rb_process.on = false;
        old_lost++;
        return NULL;
    }
    begin_region(r, fn, data);
    r->below = old_regions;
    old_regions = r;
    return r;
}

#define RB_OMP_OLD_REGION(name, params, args)                            \
    RB_INTERCEPT(void, name, params)                                     \
    {                                                                    \
        struct region *r = rb_gomp_tells() ? begin_old(fn, data) : NULL; \
        if (!r) {                                                        \
            RB_OMP_REAL(name) args;                                      \
            return;                                                      \
        }                                                                \
        fn = run_region;                                                 \
        data = r;                                                        \
        const bool inside = rb_gomp_enter();                             \
        RB_OMP_REAL(name) args;                                          \
        rb_gomp_leave(inside);                                           \
        rb_omp_current = begin_implicit(&r->team);                       \
    }

RB_INTERCEPT(void, GOMP_parallel_end, (void))
{
    struct region *r = old_regions;

    if (old_lost || !r) {
        old_lost -= old_lost > 0;
        RB_OMP_REAL(GOMP_parallel_end)();
        return;
    }
    end_implicit(rb_omp_current);
    const bool inside = rb_gomp_enter();
    RB_OMP_REAL(GOMP_parallel_end)();
    rb_gomp_leave(inside);
    old_regions = r->below;
    end_region(r);
    rb_omp_free(r, sizeof(*r));
}

// ---- barriers ------------------------------------------------------------------------------------------

static void call_with_task(void (*verb)(struct rb_self *, struct rb_omp_task *))
{
    const int saved = errno;
    struct rb_self *me = rb_gomp_tells() ? rb_enter() : NULL;

    if (me) {
        verb(me, rb_omp_current);
        rb_leave(me);
    }
    errno = saved;
}

static bool arrive_at_barrier(void)
{
    call_with_task(rb_omp_arrive);
    return rb_gomp_enter();
}

static void depart_from_barrier(bool inside)
{
    rb_gomp_leave(inside);
    call_with_task(rb_omp_depart);
}

#define RETURNED_void(call)           call
#define RETURNED_bool(call)           const bool r = call
#define RETURNED_unsigned(call)       const unsigned r = call
#define RETURNED_int(call)            const int r = call
#define RETURNED_rb_omp_pointer(call) void *r = call
#define RETURN_rb_omp_pointer         return r
#define RETURN_void
#define RETURN_bool     return r
#define RETURN_unsigned return r
#define RETURN_int      return r

#define RB_OMP_BARRIER(ret, name)                \
    RB_INTERCEPT(ret, name, (void))              \
    {                                            \
        const bool inside = arrive_at_barrier(); \
        RETURNED_##ret(RB_OMP_REAL(name)());     \
        depart_from_barrier(inside);             \
        RETURN_##ret;                            \
    }

#define RB_OMP_QUIET(ret, name, params, args)   \
    RB_INTERCEPT(ret, name, params)             \
    {                                           \
        const bool inside = rb_gomp_enter();    \
        RETURNED_##ret(RB_OMP_REAL(name) args); \
        rb_gomp_leave(inside);                  \
        RETURN_##ret;                           \
    }

// Ends an arrival without a departure. One thread gets NULL and goes on to
// GOMP_single_copy_end, where the others meet it in a barrier.
static void undo_arrival(struct rb_self *me, struct rb_omp_task *task)
{
    (void)me;
    if (task)
        task->waiting = 0;
}

RB_INTERCEPT(void *, GOMP_single_copy_start, (void))
{
    const bool inside = arrive_at_barrier();
    void *copied = RB_OMP_REAL(GOMP_single_copy_start)();

    if (copied) {
        depart_from_barrier(inside);
    } else {
        rb_gomp_leave(inside);
        call_with_task(undo_arrival);
    }
    return copied;
}

RB_INTERCEPT(void, GOMP_single_copy_end, (void *data))
{
    const bool inside = arrive_at_barrier();

    RB_OMP_REAL(GOMP_single_copy_end)(data);
    depart_from_barrier(inside);
}

RB_INTERCEPT(bool, GOMP_cancel, (int which, bool now))
{
    if (now)
        call_with_task(rb_omp_cancel);
    const bool cancelled = RB_OMP_REAL(GOMP_cancel)(which, now);
    if (cancelled)
        call_with_task(rb_omp_cancelled);
    return cancelled;
}

// ---- loops ---------------------------------------------------------------------------------------------

static void begin_group(struct rb_self *me, struct rb_omp_task *task)
{
    (void)me;
    rb_omp_group_begin(task);
}

static bool begin_loop(const uintptr_t *reductions)
{
    if (reductions)
        call_with_task(begin_group);
    return rb_gomp_enter();
}

#define RB_OMP_START(ret, name, params, args)       \
    RB_INTERCEPT(ret, name, params)                 \
    {                                               \
        const bool inside = begin_loop(reductions); \
        RETURNED_##ret(RB_OMP_REAL(name) args);     \
        rb_gomp_leave(inside);                      \
        RETURN_##ret;                               \
    }

// Ends the taskgroup that RB_OMP_START began, then a barrier.
RB_INTERCEPT(void, GOMP_workshare_task_reduction_unregister, (bool cancelled))
{
    if (!cancelled)
        call_with_task(rb_omp_arrive);
    const bool inside = rb_gomp_enter();
    RB_OMP_REAL(GOMP_workshare_task_reduction_unregister)(cancelled);
    rb_gomp_leave(inside);
    call_with_task(rb_omp_group_end);
    if (!cancelled)
        call_with_task(rb_omp_depart);
}

static bool begin_doacross(unsigned dims, const uintptr_t *reductions)
{
    struct rb_self *me = rb_enter();

    if (me) {
        rb_omp_doacross_begin(me, rb_omp_current, dims, NULL);
        rb_leave(me);
    }
    return begin_loop(reductions);
}

#define RB_OMP_DOACROSS(name, params, args)          \
    RB_INTERCEPT(bool, name, params)                 \
    {                                                \
        const bool inside = begin_doacross(n, NULL); \
        const bool r = RB_OMP_REAL(name) args;       \
        rb_gomp_leave(inside);                       \
        return r;                                    \
    }

RB_INTERCEPT(bool, GOMP_loop_doacross_start,
             (unsigned n, long *counts, long sched, long chunk, long *is, long *ie, uintptr_t *reductions,
              void **mem))
{
    const bool inside = begin_doacross(n, reductions);
    const bool r = RB_OMP_REAL(GOMP_loop_doacross_start)(n, counts, sched, chunk, is, ie, reductions, mem);

    rb_gomp_leave(inside);
    return r;
}

RB_INTERCEPT(bool, GOMP_loop_ull_doacross_start,
             (unsigned n, rb_omp_ull *counts, long sched, rb_omp_ull chunk, rb_omp_ull *is, rb_omp_ull *ie,
              uintptr_t *reductions, void **mem))
{
    const bool inside = begin_doacross(n, reductions);
    const bool r =
        RB_OMP_REAL(GOMP_loop_ull_doacross_start)(n, counts, sched, chunk, is, ie, reductions, mem);

    rb_gomp_leave(inside);
    return r;
}

// The iteration to wait for is in the arguments, as many as the loop has dimensions. Additional
// arguments do no harm, so many are always passed on. If the loop's beginning was not seen, the
// maximum is taken from the caller's frame.
#define DIMS    RB_OMP_DIMS
#define LIST(a) a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15]

static void acquire_iteration(const uint64_t *iteration)
{
    const int saved = errno;
    struct rb_self *me = rb_enter();

    if (me) {
        rb_omp_doacross_wait(me, rb_omp_current, iteration);
        rb_leave(me);
    }
    errno = saved;
}

static unsigned count_dims(void)
{
    const unsigned n = rb_omp_current && rb_omp_current->dims ? rb_omp_current->dims : DIMS;

    return n < DIMS ? n : DIMS;
}

RB_INTERCEPT(void, GOMP_doacross_wait, (long first, ...))
{
    uint64_t at[DIMS] = {(uint64_t)first};
    va_list list;

    va_start(list, first);
    for (unsigned i = 1, n = count_dims(); i < n; i++)
        at[i] = va_arg(list, uint64_t);
    va_end(list);
    RB_OMP_REAL(GOMP_doacross_wait)(first, LIST(at));
    acquire_iteration(at);
}

RB_INTERCEPT(void, GOMP_doacross_ull_wait, (rb_omp_ull first, ...))
{
    uint64_t at[DIMS] = {first};
    va_list list;

    va_start(list, first);
    for (unsigned i = 1, n = count_dims(); i < n; i++)
        at[i] = va_arg(list, uint64_t);
    va_end(list);
    RB_OMP_REAL(GOMP_doacross_ull_wait)(first, LIST(at));
    acquire_iteration(at);
}

// ---- rows ----------------------------------------------------------------------------------------------

static uintptr_t rb_gomp_critical(void)
{
    static char critical;

    return (uintptr_t)&critical;
}

static uintptr_t rb_gomp_atomic(void)
{
    static char atomic;

    return (uintptr_t)&atomic;
}

#define RB_OMP_BEFORE(name, params, args, before) \
    RB_INTERCEPT(void, name, params)              \
    {                                             \
        RB_BESIDE((void)0, before);               \
        RB_OMP_REAL(name) args;                   \
    }
#define RB_OMP_AFTER(name, params, args, after) \
    RB_INTERCEPT(void, name, params)            \
    {                                           \
        RB_OMP_REAL(name) args;                 \
        RB_BESIDE((void)0, after);              \
    }
#define RB_OMP_RESULT(ret, name, params, args, done, after) \
    RB_INTERCEPT(ret, name, params)                         \
    {                                                       \
        ret r = RB_OMP_REAL(name) args;                     \
        if (done)                                           \
            RB_BESIDE((void)0, after);                      \
        return r;                                           \
    }
#define RB_OMP_ODD(ret, name, params)
#include "run/openmp/gomp.def"
