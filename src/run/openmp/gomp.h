// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Interception of an OpenMP library: its real functions, and the difference
// between the library's code and the program's.
//
// The library is loaded with the program, or by a plugin for itself alone. So the real functions are looked
// up at their first use: in the order of loading, then in all loaded OpenMP libraries.
//
// Inside the library nothing is recorded: it calls memset, memcpy and free on memory that the
// program's threads share, under locks that are not seen. `inside` counts the calls of the
// library on this thread's stack. When the library calls the program (regions, tasks, copy
// constructors), recording is on for that time.
#ifndef RB_RUN_OPENMP_GOMP_H
#define RB_RUN_OPENMP_GOMP_H

#include "run/intercept/intercept.h"
#include "run/openmp/omp.h"

typedef void (*rb_omp_fn)(void *);
typedef void (*rb_omp_copy)(void *, void *);
typedef unsigned long long rb_omp_ull;
typedef void *rb_omp_pointer;

#if defined(RB_STATIC)
#define ROW(ret, name, params) extern __attribute__((weak)) ret __real_##name params;
#define RB_OMP_REAL(name)      __real_##name
#else
#define ROW(ret, name, params) ret(*name) params;
struct rb_omp_real {
#endif
#define RB_OMP_REGION(name, params, args)                   ROW(void, name, params)
#define RB_OMP_OLD_REGION(name, params, args)               ROW(void, name, params)
#define RB_OMP_BARRIER(ret, name)                           ROW(ret, name, (void))
#define RB_OMP_QUIET(ret, name, params, args)               ROW(ret, name, params)
#define RB_OMP_START(ret, name, params, args)               ROW(ret, name, params)
#define RB_OMP_DOACROSS(name, params, args)                 ROW(bool, name, params)
#define RB_OMP_BEFORE(name, params, args, before)           ROW(void, name, params)
#define RB_OMP_AFTER(name, params, args, after)             ROW(void, name, params)
#define RB_OMP_RESULT(ret, name, params, args, done, after) ROW(ret, name, params)
#define RB_OMP_ODD(ret, name, params)                       ROW(ret, name, params)
#include "run/openmp/gomp.def"
#undef RB_OMP_REGION
#undef RB_OMP_OLD_REGION
#undef RB_OMP_BARRIER
#undef RB_OMP_QUIET
#undef RB_OMP_START
#undef RB_OMP_DOACROSS
#undef RB_OMP_BEFORE
#undef RB_OMP_AFTER
#undef RB_OMP_RESULT
#undef RB_OMP_ODD
#undef ROW
#if !defined(RB_STATIC)
}
;
extern RB_HIDDEN struct rb_omp_real rb_omp_real;
RB_HIDDEN void *rb_omp_real_find(void **slot, const char *name);
RB_INLINE void *rb_omp_real_get(void **slot, const char *name)
{
    void *found = rb_load_relaxed(slot);

    return RB_LIKELY(found != NULL) ? found : rb_omp_real_find(slot, name);
}
#define RB_OMP_REAL(name) \
    ((__typeof__(rb_omp_real.name))rb_omp_real_get((void **)(void *)&rb_omp_real.name, #name))
#endif

extern RB_TLS RB_HIDDEN int rb_gomp_inside;

// Enters the library. Returns false if nothing is being recorded anyway.
RB_INLINE bool rb_gomp_enter(void)
{
    struct rb_self *me = rb_self_get();

    if (!me)
        return false;
    me->ignore_reads++;
    me->ignore_writes++;
    rb_gomp_inside++;
    return true;
}

RB_INLINE void rb_gomp_shift(int by)
{
    struct rb_self *me = rb_self_get();

    rb_gomp_inside += by;
    if (me) {
        me->ignore_reads += by;
        me->ignore_writes += by;
    }
}

RB_INLINE void rb_gomp_leave(bool entered)
{
    if (entered)
        rb_gomp_shift(-1);
}

// Returns to the program for the time of a call. The result is for rb_gomp_resume.
RB_INLINE int rb_gomp_call(void)
{
    const int depth = rb_gomp_inside;

    if (depth)
        rb_gomp_shift(-depth);
    return depth;
}

RB_INLINE void rb_gomp_resume(int depth)
{
    if (depth)
        rb_gomp_shift(depth);
}

// Returns true if libgomp's entry points are libomp's, which has them all, and reports them to its tool.
RB_HIDDEN bool rb_gomp_is_libomp(void);

// Returns true if these calls are followed here.
RB_INLINE bool rb_gomp_tells(void)
{
    return rb_process.on && !rb_gomp_is_libomp();
}

// Tasks (gomp_tasks.c), also those that GOMP_task does not make. A record is NULL if
// the task is not followed. It is launched when the task's data are complete, and
// ended by a thread that goes back to `under`.
RB_HIDDEN struct rb_omp_task *rb_gomp_task_new(void **depend, bool detached);
RB_HIDDEN void rb_gomp_task_launch(struct rb_omp_task *task);
RB_HIDDEN void rb_gomp_task_end(struct rb_omp_task *task, const struct rb_omp_task *under);
RB_HIDDEN void rb_gomp_wait_for_depends(void **depend);

#endif
