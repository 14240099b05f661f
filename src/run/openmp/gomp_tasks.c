// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// libgomp's tasks. A task's function is called with a copy of its data, which libgomp makes when the task
// is created. So our data for its beginning travel in front of the program's, in a header.
//
// libgomp itself uses the start of the data. It writes a detachable task's event and the bounds of a
// taskloop's task there, and reads the address of a taskloop's reductions. The header begins with these
// words. They are copied to the data behind it, where the program's function reads them.
//
// A task that runs at once (if(0), final, too many tasks) gets the very block it was created with.
#include "run/openmp/gomp.h"

#include <string.h>

#include "run/sync/sync.h"

// Flags in gcc's calls.
enum {
    TASK_DEPEND = 1 << 3,
    TASK_NOGROUP = 1 << 11,
    TASK_DETACH = 1 << 13,
};

enum { DEPEND_IN = 1, DEPEND_INOUTSET = 5 }; // kinds of omp_depend_t; all others are like `out`

#define WORDS 3
struct header {
    uintptr_t word[WORDS]; // libgomp's: see above
    unsigned words;        // the number of them that libgomp has written for the function
    uint32_t offset;       // of the data behind the header
    rb_omp_fn fn;
    rb_omp_copy copy;         // the program's own, which C++ objects need
    void *data;               // its data while the task is being created
    struct rb_omp_task *task; // of a taskloop: shared by all its tasks
    bool loop, detached;
};

// Copies bytes. memcpy is an interceptor, so it is not called.
static void copy_bytes(void *to, const void *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        ((char *)to)[i] = ((const char *)from)[i];
}

static struct rb_self *enter_to_tell(void)
{
    return rb_gomp_tells() ? rb_enter() : NULL;
}

// ---- detached tasks: complete when any thread fulfils their event --------------------------------------

static rb_spin events_lock;
static struct rb_omp_task *events; // by `outer`

// Called by the creator and by the task itself; the first call has an effect.
static void know_event(struct rb_omp_task *task, uintptr_t event)
{
    rb_spin_lock(&events_lock);
    if (!rb_omp_is_lost(task) && !task->event) {
        task->event = event;
        rb_omp_get(task);
        task->outer = events;
        events = task;
    }
    rb_spin_unlock(&events_lock);
}

static struct rb_omp_task *take_event(uintptr_t event)
{
    struct rb_omp_task *found = NULL;

    rb_spin_lock(&events_lock);
    for (struct rb_omp_task **link = &events; *link && !found; link = &(*link)->outer)
        if ((*link)->event == event) {
            found = *link;
            *link = found->outer;
            break;
        }
    rb_spin_unlock(&events_lock);
    return found;
}

static void tell_fulfilled(uintptr_t event)
{
    const int saved = errno;
    struct rb_self *me = enter_to_tell();

    if (me) {
        struct rb_omp_task *task = take_event(event);
        if (task) {
            rb_omp_task_fulfill(me, task);
            rb_omp_put(me, task);
        } else {
            rb_lost_edge(me);
        }
        rb_leave(me);
    }
    errno = saved;
}

#define RB_FULFILLS(name)                       \
    RB_INTERCEPT(void, name, (uintptr_t event)) \
    {                                           \
        tell_fulfilled(event);                  \
        const bool inside = rb_gomp_enter();    \
        RB_OMP_REAL(name)(event);               \
        rb_gomp_leave(inside);                  \
    }
RB_FULFILLS(omp_fulfill_event)
RB_FULFILLS(omp_fulfill_event_) // Fortran's

// ---- a task's life -------------------------------------------------------------------------------------

static struct rb_omp_task *begin_task(const struct header *h)
{
    const int saved = errno;
    struct rb_self *me = rb_enter();
    struct rb_omp_task *task = h->task;

    if (me) {
        rb_omp_task_begin(me, task);
        if (h->loop)
            task = rb_omp_task_like(task);
        else if (h->detached)
            know_event(task, h->word[0]);
        rb_leave(me);
    }
    errno = saved;
    return task;
}

void rb_gomp_task_end(struct rb_omp_task *task, const struct rb_omp_task *under)
{
    const int saved = errno;
    struct rb_self *me = rb_enter();

    if (me) {
        rb_omp_task_end(me, task, under);
        rb_omp_put(me, task);
        rb_leave(me);
    }
    errno = saved;
}

static void run_task(void *given)
{
    struct header *h = given;
    char *data = (char *)given + h->offset;
    struct rb_omp_task *under = rb_omp_current, *task;
    const int depth = rb_gomp_call();

    copy_bytes(data, h->word, h->words * sizeof(h->word[0]));
    task = begin_task(h);
    rb_omp_current = task;
    h->fn(data);
    rb_omp_current = under;
    rb_gomp_task_end(task, under);
    rb_gomp_resume(depth);
}

void rb_gomp_task_launch(struct rb_omp_task *task)
{
    struct rb_self *me = rb_enter();

    if (me) {
        rb_omp_task_launch(me, task);
        rb_leave(me);
    }
}

// libgomp calls this for tasks with copy constructors in their data. The
// copies are made here, so the task comes after.
static void copy_task(void *to, void *from)
{
    const struct header *h = from;
    const int depth = rb_gomp_call();

    *(struct header *)to = *h;
    if (h->detached)
        copy_bytes(h->data, h->word, sizeof(h->word[0]));
    h->copy((char *)to + h->offset, h->data);
    rb_gomp_resume(depth);
    rb_gomp_task_launch(h->task);
}

// ---- making tasks --------------------------------------------------------------------------------------

static size_t larger_of(long a, size_t b)
{
    return a > 0 && (size_t)a > b ? (size_t)a : b;
}

// Returns the offset of data with this alignment behind the start of the header.
static size_t offset_of(long align)
{
    const size_t a = larger_of(align, 16);

    return (sizeof(struct header) + a - 1) / a * a;
}

static void fill_header(struct header *h, rb_omp_fn fn, void *data, rb_omp_copy copy, long size, long align)
{
    *h = (struct header){.fn = fn, .copy = copy, .data = data, .offset = (uint32_t)offset_of(align)};
    for (long i = 0; data && i < WORDS && (i + 1) * (long)sizeof(h->word[0]) <= size; i++)
        h->word[i] = ((const uintptr_t *)data)[i];
}

// Returns the room for header and data, where data are copied as they are; with
// a copy constructor, for the header alone.
static size_t block_bytes(rb_omp_copy copy, long size, long align)
{
    return (copy ? sizeof(struct header) : offset_of(align) + (size_t)size) + larger_of(align, 64);
}

static struct header *block_in(void *room, long align)
{
    const size_t a = larger_of(align, 64);

    return (struct header *)(((uintptr_t)room + a - 1) & ~(a - 1));
}

// `depend` in gcc's layout: all, out, addresses; or 0, all, out,
// mutexinoutset, in, addresses, depend objects.
struct depends {
    void **address;
    uintptr_t count, outs, plain;
};

static struct depends read_depends(void **depend)
{
    struct depends d;

    if (depend[0]) {
        d.count = d.plain = (uintptr_t)depend[0];
        d.outs = (uintptr_t)depend[1];
        d.address = depend + 2;
    } else {
        d.count = (uintptr_t)depend[1];
        d.outs = (uintptr_t)depend[2] + (uintptr_t)depend[3];
        d.plain = d.outs + (uintptr_t)depend[4];
        d.address = depend + 5;
    }
    return d;
}

static enum rb_omp_kind depend_kind(const struct depends *d, uintptr_t i, uintptr_t *address)
{
    const uintptr_t *object = d->address[i];
    enum rb_omp_kind kind = i < d->outs ? RB_OMP_OUT : RB_OMP_IN;

    *address = (uintptr_t)d->address[i];
    if (i >= d->plain) {
        *address = object[0];
        kind = object[1] == DEPEND_IN ? RB_OMP_IN : object[1] == DEPEND_INOUTSET ? RB_OMP_SET : RB_OMP_OUT;
    }
    return kind == RB_OMP_OUT && !*address ? RB_OMP_ALL : kind; // omp_all_memory
}

static void add_depends(struct rb_omp_task *task, void **depend)
{
    const struct depends d = read_depends(depend);

    for (uintptr_t i = 0; i < d.count; i++) {
        uintptr_t address;
        const enum rb_omp_kind kind = depend_kind(&d, i, &address);
        rb_omp_depend(task, address, kind);
    }
}

// Acquires the dependences, after a wait for them.
static void learn_depends(void **depend)
{
    const int saved = errno;
    const struct depends d = read_depends(depend);
    struct rb_self *me = enter_to_tell();

    for (uintptr_t i = 0; me && i < d.count; i++) {
        uintptr_t address;
        const enum rb_omp_kind kind = depend_kind(&d, i, &address);
        rb_omp_depend_wait(me, rb_omp_current, address, kind);
    }
    if (me)
        rb_leave(me);
    errno = saved;
}

struct rb_omp_task *rb_gomp_task_new(void **depend, bool detached)
{
    const int saved = errno;
    struct rb_self *me = enter_to_tell();
    struct rb_omp_task *task = NULL;

    if (me) {
        task = rb_omp_task_new(rb_omp_current);
        if (depend)
            add_depends(task, depend);
        if (detached)
            rb_omp_get(task);
        rb_leave(me);
    }
    errno = saved;
    return task;
}

static void end_detached(struct rb_omp_task *task, uintptr_t event)
{
    struct rb_self *me = rb_enter();

    if (!me)
        return;
    if (event)
        know_event(task, event);
    if (!rb_omp_is_lost(task))
        rb_on_acquire(me, (uintptr_t)&task->begun);
    rb_omp_put(me, task);
    rb_leave(me);
}

RB_INTERCEPT(void, GOMP_task,
             (rb_omp_fn fn, void *data, rb_omp_copy copy, long size, long align, bool deferred,
              unsigned flags, void **depend, int priority, void *detach))
{
    const bool detached = (flags & TASK_DETACH) && data && size >= (long)sizeof(uintptr_t);
    struct rb_omp_task *task = rb_gomp_task_new(flags & TASK_DEPEND ? depend : NULL, detached);

    if (!task) {
        RB_OMP_REAL(GOMP_task)(fn, data, copy, size, align, deferred, flags, depend, priority, detach);
        return;
    }
    struct header *h = block_in(__builtin_alloca(block_bytes(copy, size, align)), align);
    fill_header(h, fn, data, copy, size, align);
    h->task = task;
    h->detached = detached;
    h->words = detached;
    if (!copy) {
        copy_bytes((char *)h + h->offset, data, (size_t)size);
        rb_gomp_task_launch(task);
    }
    const bool inside = rb_gomp_enter();
    RB_OMP_REAL(GOMP_task)
    (run_task, h, copy ? copy_task : NULL, (long)h->offset + size, (long)larger_of(align, 16), deferred,
     flags, depend, priority, detach);
    rb_gomp_leave(inside);
    if (detached)
        end_detached(task, h->word[0]);
}

// ---- taskloop ------------------------------------------------------------------------------------------
// Its tasks share one record, from which each takes its own when it begins. A taskgroup is around them
// unless nogroup is given. Then all are done at the end of the call; without it the team keeps the record.

static struct rb_omp_task *begin_taskloop(bool group)
{
    const int saved = errno;
    struct rb_self *me = enter_to_tell();
    struct rb_omp_task *common = NULL;

    if (me) {
        if (group)
            rb_omp_group_begin(rb_omp_current);
        common = rb_omp_task_new(rb_omp_current);
        rb_leave(me);
    }
    errno = saved;
    return common;
}

static void end_taskloop(struct rb_omp_task *common, bool group)
{
    const int saved = errno;
    struct rb_self *me = rb_enter();
    struct rb_omp_team *team = common->team;

    if (me) {
        if (group)
            rb_omp_group_end(me, rb_omp_current);
        if (group || !team || common == &rb_omp_lost) {
            rb_omp_put(me, common);
        } else {
            rb_spin_lock(&team->lock);
            common->outer = team->kept;
            team->kept = common;
            rb_spin_unlock(&team->lock);
        }
        rb_leave(me);
    }
    errno = saved;
}

#define TASKLOOP(name, type)                                                                              \
    RB_INTERCEPT(void, name,                                                                              \
                 (rb_omp_fn fn, void *data, rb_omp_copy copy, long size, long align, unsigned flags,      \
                  unsigned long tasks, int priority, type s, type e, type step))                          \
    {                                                                                                     \
        const bool group = !(flags & TASK_NOGROUP);                                                       \
        struct rb_omp_task *common = begin_taskloop(group);                                               \
        if (!common) {                                                                                    \
            RB_OMP_REAL(name)(fn, data, copy, size, align, flags, tasks, priority, s, e, step);           \
            return;                                                                                       \
        }                                                                                                 \
        struct header *h = block_in(__builtin_alloca(block_bytes(copy, size, align)), align);             \
        fill_header(h, fn, data, copy, size, align);                                                      \
        h->task = common;                                                                                 \
        h->loop = true;                                                                                   \
        h->words = 2;                                                                                     \
        if (!copy) {                                                                                      \
            copy_bytes((char *)h + h->offset, data, (size_t)size);                                        \
            rb_gomp_task_launch(common);                                                                  \
        }                                                                                                 \
        const bool inside = rb_gomp_enter();                                                              \
        RB_OMP_REAL(name)                                                                                 \
        (run_task, h, copy ? copy_task : NULL, (long)h->offset + size, (long)larger_of(align, 16), flags, \
         tasks, priority, s, e, step);                                                                    \
        rb_gomp_leave(inside);                                                                            \
        end_taskloop(common, group);                                                                      \
    }
TASKLOOP(GOMP_taskloop, long)
TASKLOOP(GOMP_taskloop_ull, rb_omp_ull)

// ---- waiting for tasks ---------------------------------------------------------------------------------

static void call_with_current(void (*verb)(struct rb_self *, struct rb_omp_task *))
{
    const int saved = errno;
    struct rb_self *me = enter_to_tell();

    if (me) {
        verb(me, rb_omp_current);
        rb_leave(me);
    }
    errno = saved;
}

RB_INTERCEPT(void, GOMP_taskwait, (void))
{
    const bool inside = rb_gomp_enter();

    RB_OMP_REAL(GOMP_taskwait)();
    rb_gomp_leave(inside);
    call_with_current(rb_omp_taskwait);
}

void rb_gomp_wait_for_depends(void **depend)
{
    const bool inside = rb_gomp_enter();

    RB_OMP_REAL(GOMP_taskwait_depend)(depend);
    rb_gomp_leave(inside);
    learn_depends(depend);
}

RB_INTERCEPT(void, GOMP_taskwait_depend, (void **depend))
{
    rb_gomp_wait_for_depends(depend);
}

static void begin_group(struct rb_self *me, struct rb_omp_task *task)
{
    (void)me;
    rb_omp_group_begin(task);
}

RB_INTERCEPT(void, GOMP_taskgroup_start, (void))
{
    call_with_current(begin_group);
    RB_OMP_REAL(GOMP_taskgroup_start)();
}

RB_INTERCEPT(void, GOMP_taskgroup_end, (void))
{
    const bool inside = rb_gomp_enter();

    RB_OMP_REAL(GOMP_taskgroup_end)();
    rb_gomp_leave(inside);
    call_with_current(rb_omp_group_end);
}
