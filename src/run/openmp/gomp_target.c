// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Target constructs of gcc. Without a device other than this machine the program's
// function runs here. It runs at once, on the thread that meets the construct and outside
// any team; with `nowait` it runs as a task.
//
// libgomp passes the function a copy of the list of addresses, and nothing else of ours. So the record of a
// `nowait` task travels as an additional address in front of the others. Devices would map that address,
// and they know the program's functions by address. Where there are devices, and for tasks that only move
// data, the run is not seen (rb_omp_unseen).
#include "run/openmp/gomp.h"
#include "run/sync/sync.h"

enum { NOWAIT = 1 << 0 };          // a bit of the flags
enum { KIND_NOT_COPIED = 0 };      // alloc: not copied when the task is made
enum { MOST_ADDRESSES = 1 << 12 }; // the most that are copied on the stack

struct target {
    rb_omp_fn fn;
    struct rb_omp_task *task;
};

static void run_target(void *given)
{
    void **addresses = given;
    struct target *t = addresses[0];
    const struct target mine = *t;
    struct rb_omp_task *under = rb_omp_current;
    const int depth = rb_gomp_call(), saved = errno;
    struct rb_self *me = rb_enter();

    rb_omp_free(t, sizeof(*t));
    if (me) {
        rb_omp_task_begin(me, mine.task);
        rb_leave(me);
    }
    errno = saved;
    rb_omp_current = NULL;
    mine.fn(addresses + 1);
    rb_omp_current = under;
    rb_gomp_task_end(mine.task, under);
    rb_gomp_resume(depth);
}

static bool has_devices(void)
{
#if defined(RB_STATIC)
    if (!__real_omp_get_num_devices)
        return true;
#endif
    return RB_OMP_REAL(omp_get_num_devices)() != 0;
}

// Returns NULL if the task will not be seen.
static struct target *new_target(rb_omp_fn fn, size_t count, void **depend)
{
    struct target *t = NULL;

    if (count < MOST_ADDRESSES && !has_devices())
        t = rb_omp_alloc(sizeof(*t));
    if (t)
        *t = (struct target){fn, rb_gomp_task_new(depend, false)};
    if (t && !t->task) {
        rb_omp_free(t, sizeof(*t));
        t = NULL;
    }
    if (t)
        rb_gomp_task_launch(t->task);
    return t;
}

static void begin_unseen(void)
{
    const int saved = errno;
    struct rb_self *me = rb_enter();

    rb_omp_unseen = true;
    if (me) {
        rb_lost_edge(me);
        rb_leave(me);
    }
    errno = saved;
}

// The construct waits for its dependences first. They are acquired here
// already, so that the function comes after them.
static void run_in_thread(int device, rb_omp_fn fn, size_t count, void **addresses, size_t *sizes,
                          unsigned short *kinds, unsigned flags, void **depend, void **args)
{
    struct rb_omp_task *outer = rb_omp_current;

    if (depend)
        rb_gomp_wait_for_depends(depend);
    rb_omp_current = NULL;
    RB_OMP_REAL(GOMP_target_ext)(device, fn, count, addresses, sizes, kinds, flags, depend, args);
    rb_omp_current = outer;
}

static void run_as_task(struct target *t, int device, size_t count, void **addresses, size_t *sizes,
                        unsigned short *kinds, unsigned flags, void **depend, void **args)
{
    void **address = __builtin_alloca((count + 1) * sizeof(*address));
    size_t *size = __builtin_alloca((count + 1) * sizeof(*size));
    unsigned short *kind = __builtin_alloca((count + 1) * sizeof(*kind));

    address[0] = t;
    size[0] = 0;
    kind[0] = KIND_NOT_COPIED;
    for (size_t i = 0; i < count; i++) {
        address[i + 1] = addresses[i];
        size[i + 1] = sizes[i];
        kind[i + 1] = kinds[i];
    }
    const bool inside = rb_gomp_enter();
    RB_OMP_REAL(GOMP_target_ext)(device, run_target, count + 1, address, size, kind, flags, depend, args);
    rb_gomp_leave(inside);
}

RB_INTERCEPT(void, GOMP_target_ext,
             (int device, rb_omp_fn fn, size_t count, void **addresses, size_t *sizes, unsigned short *kinds,
              unsigned flags, void **depend, void **args))
{
    const bool tells = rb_gomp_tells();
    struct target *t = tells && flags & NOWAIT ? new_target(fn, count, depend) : NULL;

    if (t) {
        run_as_task(t, device, count, addresses, sizes, kinds, flags, depend, args);
    } else if (tells && !(flags & NOWAIT)) {
        run_in_thread(device, fn, count, addresses, sizes, kinds, flags, depend, args);
    } else {
        if (tells)
            begin_unseen();
        RB_OMP_REAL(GOMP_target_ext)(device, fn, count, addresses, sizes, kinds, flags, depend, args);
    }
}

// Without dependences, and without a device, there is nothing to follow.
static void begin_move(unsigned flags, void **depend)
{
    if (!rb_gomp_tells())
        return;
    if (!(flags & NOWAIT) && depend)
        rb_gomp_wait_for_depends(depend);
    else if (flags & NOWAIT && (depend || has_devices()))
        begin_unseen();
}

RB_INTERCEPT(void, GOMP_target_update_ext,
             (int device, size_t count, void **addresses, size_t *sizes, unsigned short *kinds,
              unsigned flags, void **depend))
{
    begin_move(flags, depend);
    RB_OMP_REAL(GOMP_target_update_ext)(device, count, addresses, sizes, kinds, flags, depend);
}

RB_INTERCEPT(void, GOMP_target_enter_exit_data,
             (int device, size_t count, void **addresses, size_t *sizes, unsigned short *kinds,
              unsigned flags, void **depend))
{
    begin_move(flags, depend);
    RB_OMP_REAL(GOMP_target_enter_exit_data)(device, count, addresses, sizes, kinds, flags, depend);
}
