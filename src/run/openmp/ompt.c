// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tool that libomp asks for when it starts. libomp reports regions, barriers and
// tasks to it as they happen, each on its own thread. Locks, critical and ordered are
// reported too late for us; they are in gomp.def.
//
// libomp keeps a word for the tool in each region and task: a team, a task record. A worker is told of the
// end of its last barrier and implicit task only when it is used again, long after the region's end.
// `parallel_data` is NULL then, and its team must not be touched.
//
// A task's block of data comes from libomp's own lists and goes back there, from thread to thread. Its
// history is forgotten when the task is complete.
#include "run/openmp/ompt.h"

#include <errno.h>

#include "run/access/history.h"
#include "run/openmp/gomp.h"
#include "run/openmp/omp.h"
#include "run/sync/sync.h"

static ompt_get_task_memory_t task_memory;

static struct rb_omp_task *task_of(const ompt_data_t *data)
{
    return data ? data->ptr : NULL;
}

// ---- regions -------------------------------------------------------------------------------------------

static struct rb_omp_team *new_team(void)
{
    struct rb_omp_team *team = rb_omp_alloc(sizeof(*team));

    return team ? team : &rb_omp_spare_team;
}

static void end_team(struct rb_self *me, struct rb_omp_team *team)
{
    rb_omp_team_end(me, team);
    if (team != &rb_omp_spare_team)
        rb_omp_free(team, sizeof(*team));
}

// A region ends on the thread it began on, the last first. By then libomp may have given the region's word
// to another region, with another team in it.
static RB_TLS struct rb_omp_team *begun_here;
static RB_TLS uint64_t without; // a bit for each open region, the last in bit 0: it has the spare team

static void on_parallel_begin(struct rb_self *me, ompt_data_t *region)
{
    struct rb_omp_team *team = new_team();
    const bool spare = team == &rb_omp_spare_team;

    without = without << 1 | spare;
    if (!spare) {
        team->outer = begun_here;
        begun_here = team;
    }
    region->ptr = team;
    rb_omp_team_begin(me, team);
}

static void on_parallel_end(struct rb_self *me, ompt_data_t *region)
{
    struct rb_omp_team *team = without & 1 ? &rb_omp_spare_team : begun_here;
    void *word = team;

    without >>= 1;
    if (!team)
        return;
    if (team == begun_here)
        begun_here = team->outer;
    rb_cas_strong_relaxed(&region->ptr, &word, NULL);
    end_team(me, team);
}

static void on_implicit_begin(struct rb_self *me, ompt_data_t *region, ompt_data_t *data)
{
    struct rb_omp_task *task;
    struct rb_omp_team *team = region ? region->ptr : NULL;
    const bool own = !team; // the program's first task: no region was begun for it

    if (own)
        team = new_team();
    if (own && region)
        region->ptr = team;
    task = rb_omp_implicit_begin(me, team);
    if (!rb_omp_is_lost(task)) {
        task->outer = rb_omp_current;
        task->own_team = own;
    }
    data->ptr = task;
    rb_omp_current = task;
}

static void on_implicit_end(struct rb_self *me, const ompt_data_t *region, ompt_data_t *data)
{
    struct rb_omp_task *task = data->ptr;
    struct rb_omp_team *own;

    if (!task)
        return;
    own = task->own_team ? task->team : NULL;
    rb_omp_current = rb_omp_is_lost(task) ? task : task->outer;
    rb_omp_implicit_end(me, task, region || own);
    if (own)
        end_team(me, own);
    data->ptr = NULL;
}

// ---- barriers, taskwait, taskgroup ---------------------------------------------------------------------

static void on_sync_begin(struct rb_self *me, int kind, struct rb_omp_task *task)
{
    if (kind == ompt_sync_region_taskgroup)
        rb_omp_group_begin(task);
    else if (kind != ompt_sync_region_taskwait)
        rb_omp_arrive(me, task);
}

static void on_sync_end(struct rb_self *me, int kind, bool region, struct rb_omp_task *task)
{
    if (kind == ompt_sync_region_taskgroup) {
        rb_omp_group_end(me, task);
    } else if (kind == ompt_sync_region_taskwait) {
        rb_omp_taskwait(me, task);
    } else if (region) {
        rb_omp_depart(me, task);
    } else if (task && !rb_omp_is_lost(task)) {
        task->waiting = 0;
        task->round++;
    }
}

// The waiting is over, but the library has still to combine the values that tasks reduced.
static void on_wait_end(struct rb_self *me, int kind, bool region, struct rb_omp_task *task)
{
    if (kind == ompt_sync_region_taskgroup)
        rb_omp_group_learn(me, task);
    else if (kind == ompt_sync_region_taskwait)
        rb_omp_taskwait(me, task);
    else if (region)
        rb_omp_learn(me, task);
}

// ---- tasks ---------------------------------------------------------------------------------------------

static enum rb_omp_kind kind_of(int type)
{
    switch (type) {
    case ompt_dependence_type_in:
        return RB_OMP_IN;
    case ompt_dependence_type_inoutset:
        return RB_OMP_SET;
    case ompt_dependence_type_out_all_memory:
    case ompt_dependence_type_inout_all_memory:
        return RB_OMP_ALL;
    default:
        return RB_OMP_OUT;
    }
}

static void on_dependences(const ompt_dependence_t *list, int count, struct rb_omp_task *task)
{
    for (int i = 0; task && task->explicit && i < count; i++)
        if (list[i].dependence_type != ompt_dependence_type_source &&
            list[i].dependence_type != ompt_dependence_type_sink)
            rb_omp_depend(task, (uintptr_t)list[i].variable.ptr, kind_of(list[i].dependence_type));
}

static void complete_task(struct rb_self *me, ompt_data_t *data, const struct rb_omp_task *under)
{
    struct rb_omp_task *task = data->ptr;

    rb_omp_task_end(me, task, under);
    if (task->memory_bytes)
        rb_accesses_forget(me, task->memory, task->memory_bytes);
    data->ptr = NULL;
    rb_omp_put(me, task);
}

// A task that waits inside the library is left in the midst of a call (gomp.h). Tasks without a record keep
// the counts they find. They end in the reverse order of their beginning, so the counts match.
static void change_sides(struct rb_omp_task *prior, const struct rb_omp_task *next)
{
    if (!prior || !next || prior == &rb_omp_lost || next == &rb_omp_lost)
        return;
    prior->inside = rb_gomp_call();
    rb_gomp_resume(next->inside);
}

// Follows the task that its thread leaves.
static void on_prior(struct rb_self *me, ompt_data_t *data, int status, const struct rb_omp_task *next)
{
    struct rb_omp_task *prior = task_of(data);

    if (!prior || (!prior->explicit && prior != &rb_omp_lost))
        return;
    switch (status) {
    case ompt_task_complete:
    case ompt_task_cancel:
        complete_task(me, data, next);
        break;
    case ompt_task_detach:
        rb_omp_task_end(me, prior, next);
        break;
    case ompt_task_early_fulfill:
        rb_omp_task_fulfill(me, prior);
        break;
    case ompt_task_late_fulfill:
        rb_omp_task_fulfill(me, prior);
        if (prior->memory_bytes)
            rb_accesses_forget(me, prior->memory, prior->memory_bytes);
        data->ptr = NULL;
        rb_omp_put(me, prior);
        break;
    case ompt_taskwait_complete:
        rb_omp_task_begin(me, prior);
        data->ptr = NULL;
        rb_omp_put(me, prior);
        break;
    default: // it goes on later, if untied on another thread
        rb_omp_task_launch(me, prior);
    }
}

static void on_next(struct rb_self *me, struct rb_omp_task *next)
{
    void *address = NULL;
    size_t bytes = 0;

    rb_omp_current = next;
    if (!next || (!next->explicit && next != &rb_omp_lost))
        return;
    rb_omp_task_begin(me, next);
    if (next != &rb_omp_lost && task_memory && !next->memory_bytes) {
        task_memory(&address, &bytes, 0);
        next->memory = (uintptr_t)address;
        next->memory_bytes = address ? bytes : 0;
    }
}

// ---- callbacks of libomp -------------------------------------------------------------------------------

static void parallel_begin(ompt_data_t *task, const void *frame, ompt_data_t *region, unsigned threads,
                           int flags, const void *from)
{
    const int saved = errno;
    struct rb_self *me = rb_enter();

    (void)task, (void)frame, (void)threads, (void)flags, (void)from;
    if (me) {
        on_parallel_begin(me, region);
        rb_leave(me);
    }
    errno = saved;
}

static void parallel_end(ompt_data_t *region, ompt_data_t *task, int flags, const void *from)
{
    const int saved = errno;
    struct rb_self *me = rb_enter();

    (void)task, (void)flags, (void)from;
    if (me) {
        on_parallel_end(me, region);
        rb_leave(me);
    }
    errno = saved;
}

static void implicit_task(int endpoint, ompt_data_t *region, ompt_data_t *task, unsigned threads,
                          unsigned index, int flags)
{
    const int saved = errno;
    struct rb_self *me = rb_enter();

    (void)threads, (void)index, (void)flags;
    if (me) {
        if (endpoint == ompt_scope_begin)
            on_implicit_begin(me, region, task);
        else
            on_implicit_end(me, region, task);
        rb_leave(me);
    }
    errno = saved;
}

static void sync_region(int kind, int endpoint, ompt_data_t *region, ompt_data_t *task, const void *from)
{
    const int saved = errno;
    struct rb_self *me = rb_enter();

    (void)from;
    if (me && kind != ompt_sync_region_reduction) {
        if (endpoint & ompt_scope_begin)
            on_sync_begin(me, kind, task_of(task));
        if (endpoint & ompt_scope_end)
            on_sync_end(me, kind, region != NULL, task_of(task));
    }
    if (me)
        rb_leave(me);
    errno = saved;
}

static void sync_region_wait(int kind, int endpoint, ompt_data_t *region, ompt_data_t *task, const void *from)
{
    const int saved = errno;
    struct rb_self *me = endpoint & ompt_scope_end ? rb_enter() : NULL;

    (void)from;
    if (me) {
        on_wait_end(me, kind, region != NULL, task_of(task));
        rb_leave(me);
    }
    errno = saved;
}

// Between begin and end this thread combines the values that others have reduced, and does nothing else.
// libomp alone knows that the others are done with them.
static void combine_reduction(int kind, int endpoint, ompt_data_t *region, ompt_data_t *task,
                              const void *from)
{
    const int by = endpoint == ompt_scope_begin ? 1 : -1;
    struct rb_self *me = rb_self_get();

    (void)kind, (void)region, (void)task, (void)from;
    if (!me || endpoint == ompt_scope_beginend)
        return;
    me->ignore_reads += by;
    me->ignore_writes += by;
}

static void task_create(ompt_data_t *creator, const void *frame, ompt_data_t *created, int flags, int depends,
                        const void *from)
{
    const int saved = errno;
    struct rb_self *me = flags & ompt_task_initial ? NULL : rb_enter();

    (void)frame, (void)depends, (void)from;
    if (me) {
        created->ptr = rb_omp_task_new(task_of(creator));
        rb_omp_task_launch(me, created->ptr);
        rb_leave(me);
    }
    errno = saved;
}

static void task_schedule(ompt_data_t *prior, int status, ompt_data_t *next)
{
    const int saved = errno;
    struct rb_self *me = rb_enter();
    const bool leaves = status != ompt_task_early_fulfill && status != ompt_task_late_fulfill &&
                        status != ompt_taskwait_complete;

    if (me) {
        if (leaves)
            change_sides(task_of(prior), task_of(next));
        on_prior(me, prior, status, leaves ? task_of(next) : NULL);
        if (leaves)
            on_next(me, task_of(next));
        rb_leave(me);
    }
    errno = saved;
}

static void task_dependences(ompt_data_t *task, const ompt_dependence_t *list, int count)
{
    struct rb_self *me = rb_enter();

    if (me) {
        on_dependences(list, count, task_of(task));
        rb_leave(me);
    }
}

void __tsan_atomic_thread_fence(int order);
static void flush(ompt_data_t *thread, const void *from)
{
    (void)thread, (void)from;
    __tsan_atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void cancel_region(ompt_data_t *task, int flags, const void *from)
{
    const int saved = errno;
    struct rb_self *me = rb_enter();

    (void)from;
    if (me) {
        if (flags & ompt_cancel_activated)
            rb_omp_cancel(me, task_of(task));
        if (flags & ompt_cancel_detected)
            rb_omp_cancelled(me, task_of(task));
        rb_leave(me);
    }
    errno = saved;
}

// ---- the tool ------------------------------------------------------------------------------------------

static int initialize_tool(ompt_function_lookup_t lookup, int device, ompt_data_t *tool)
{
    static const struct {
        int event;
        ompt_interface_fn_t function;
    } callbacks[] = {
        {ompt_callback_parallel_begin, (ompt_interface_fn_t)parallel_begin},
        {ompt_callback_parallel_end, (ompt_interface_fn_t)parallel_end},
        {ompt_callback_implicit_task, (ompt_interface_fn_t)implicit_task},
        {ompt_callback_sync_region, (ompt_interface_fn_t)sync_region},
        {ompt_callback_sync_region_wait, (ompt_interface_fn_t)sync_region_wait},
        {ompt_callback_reduction, (ompt_interface_fn_t)combine_reduction},
        {ompt_callback_task_create, (ompt_interface_fn_t)task_create},
        {ompt_callback_task_schedule, (ompt_interface_fn_t)task_schedule},
        {ompt_callback_dependences, (ompt_interface_fn_t)task_dependences},
        {ompt_callback_flush, (ompt_interface_fn_t)flush},
        {ompt_callback_cancel, (ompt_interface_fn_t)cancel_region},
    };
    const ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");

    (void)device, (void)tool;
    if (!set)
        return 0;
    task_memory = (ompt_get_task_memory_t)lookup("ompt_get_task_memory");
    for (unsigned i = 0; i < RB_LENGTH(callbacks); i++)
        set(callbacks[i].event, callbacks[i].function);
    return 1;
}

static void finalize_tool(ompt_data_t *tool)
{
    (void)tool;
}

// libomp calls this when it starts, before it looks for tools elsewhere (OMP_TOOL_LIBRARIES, LLVM's
// Archer). The call may precede the start of the runtime, if a library used OpenMP in its constructor. The
// callbacks do nothing until then.
RB_WEAK ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime);
RB_WEAK ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime)
{
    static ompt_start_tool_result_t tool = {initialize_tool, finalize_tool, {0}};

    (void)version, (void)runtime;
    return &tool;
}
