// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The order that OpenMP makes, for either runtime library: libgomp through its entry points
// (gomp.c, gomp_tasks.c), libomp through its tool interface (ompt.c). Both libraries
// synchronise by futexes and flags of their own, which are not intercepted. These functions
// state the order they promise, by the verbs of sync.h.
//
//   region    the starting thread -> the beginning of every implicit task; the end of every implicit task ->
//             the thread that goes on after the region
//   barrier   arrivals -> departures of the same round. Rounds take two objects in turn, as pthread's do;
//             each implicit task counts its own, for all of a team meet the same barriers
//   task      creation -> its beginning; its end -> taskwait of the parent, end of the taskgroup it was made
//             in, the barrier its thread waits in, and tasks of the same parent that depend on it
//   ordered, doacross, cancel   as their names say; see the functions
//
// Fields of type char are never read: their addresses name sync objects, which end with the record. Records
// come from an arena of their own, which outlives a fork: the stack of a forked child still refers to them.
// Without memory `rb_omp_lost` stands for the record, and every use of it is a lost edge (rt.h).
//
// All functions are called inside the guard. A task of NULL is a thread
// outside any region, which is not ordered.
#ifndef RB_RUN_OPENMP_OMP_H
#define RB_RUN_OPENMP_OMP_H

#include "run/core/rt.h"

#define RB_OMP_POSTS 256 // doacross: the number of iterations of a team that are told apart

// The iteration that posted last to each slot; the address of a slot is its object.
struct rb_omp_posts {
    uint64_t stamp[RB_OMP_POSTS];
};

// The ranges of a doacross loop, by dimension: first iteration, last iteration, step. A wait for an
// iteration outside them does not wait.
#define RB_OMP_DIMS 16
struct rb_omp_ranges {
    int64_t of[RB_OMP_DIMS][3];
};

struct rb_omp_team {
    struct rb_omp_team *outer;  // an open team that began earlier on the same thread; ompt.c
    struct rb_omp_posts *posts; // made by the first doacross loop, under `lock`
    struct rb_omp_task *kept;   // freed with the team, linked by `outer`; under `lock`
    rb_spin lock;
    char begun, ended, barrier[2], ordered, posted, cancelled;
};

struct rb_omp_group {
    struct rb_omp_group *outer;
    char done;
};

struct rb_omp_task {
    struct rb_omp_task *parent; // counted in its refs
    struct rb_omp_team *team;
    struct rb_omp_group *group;                // innermost that is open
    struct rb_omp_dependence *children_depend; // dependences of children, by address: own thread's
    struct rb_omp_ranges *ranges; // of its doacross loop, if the library is asked for iterations outside it
    struct rb_omp_links *depends; // its own dependences: entries of its parent's tree
    struct rb_omp_task *outer;    // the thread's task before it (ompt.c); next in a list
    uintptr_t waiting;            // object of the barrier it waits in, or 0
    uintptr_t event, memory;      // detach: the event's handle; its block of data (ompt.c)
    size_t memory_bytes;
    uint32_t refs;  // itself until it ends, its children, its event
    uint32_t round; // barriers so far
    uint32_t loops; // doacross loops so far
    uint32_t dims;  // of the last one
    uint32_t groups_lost;
    int inside; // rb_gomp_inside while its thread runs another task (ompt.c)
    bool explicit, ended, waits_for_all, all_used, own_team;
    bool lossy;      // its dependences are not known in full
    bool group_lost; // the taskgroup or team that waits for it is not known, nor for its children
    char begun, children, all;
};

enum rb_omp_kind { RB_OMP_IN, RB_OMP_OUT, RB_OMP_SET, RB_OMP_ALL };

extern RB_HIDDEN struct rb_omp_task rb_omp_lost;
// The task that this thread runs.
extern RB_TLS RB_HIDDEN struct rb_omp_task *rb_omp_current;
// There are tasks that are not seen (target nowait): every wait for
// tasks, beginning and end of one loses an edge.
extern RB_HIDDEN bool rb_omp_unseen;

RB_INLINE bool rb_omp_is_lost(const struct rb_omp_task *task)
{
    return task == &rb_omp_lost;
}

RB_INLINE uintptr_t rb_omp_key(const char *field)
{
    return (uintptr_t)field;
}

// Returns the team with the objects for a construct of the task; NULL if
// there is none. rb_omp_lost has none either.
RB_INLINE struct rb_omp_team *rb_omp_team_of(struct rb_self *me, const struct rb_omp_task *task)
{
    if (task && rb_omp_is_lost(task))
        rb_lost_edge(me);
    return task ? task->team : NULL;
}

RB_HIDDEN void *rb_omp_alloc(size_t bytes); // zeroed; NULL when the arena is used up
RB_HIDDEN void rb_omp_free(void *block, size_t bytes);
// Starts a new arena in a child. The parent's records stay mapped and in use by this stack.
RB_HIDDEN void rb_omp_after_fork(void);

// Regions. A team belongs to its creator; a spare one stands for those that could not be allocated.
extern RB_HIDDEN struct rb_omp_team rb_omp_spare_team;
RB_HIDDEN void rb_omp_team_begin(struct rb_self *me, struct rb_omp_team *team);
RB_HIDDEN void rb_omp_team_end(struct rb_self *me, struct rb_omp_team *team);
RB_HIDDEN struct rb_omp_task *rb_omp_implicit_begin(struct rb_self *me, struct rb_omp_team *team);
RB_HIDDEN void rb_omp_implicit_end(struct rb_self *me, struct rb_omp_task *task, bool team_alive);
RB_HIDDEN void rb_omp_arrive(struct rb_self *me, struct rb_omp_task *task);
RB_HIDDEN void rb_omp_learn(struct rb_self *me, struct rb_omp_task *task); // acquires the arrivals
RB_HIDDEN void rb_omp_depart(struct rb_self *me, struct rb_omp_task *task);

// Tasks: made; launched when their data are complete; begun; ended. `under` is the task that the thread
// goes back to. rb_omp_put drops a reference.
RB_HIDDEN struct rb_omp_task *rb_omp_task_new(struct rb_omp_task *parent);
RB_HIDDEN struct rb_omp_task *
rb_omp_task_like(const struct rb_omp_task *sibling); // same parent, same taskgroup
RB_HIDDEN void rb_omp_task_launch(struct rb_self *me, struct rb_omp_task *task);
RB_HIDDEN void rb_omp_task_begin(struct rb_self *me, struct rb_omp_task *task);
RB_HIDDEN void rb_omp_task_end(struct rb_self *me, struct rb_omp_task *task, const struct rb_omp_task *under);
// Ends the other half of a detached task, when any thread fulfils its event.
RB_HIDDEN void rb_omp_task_fulfill(struct rb_self *me, struct rb_omp_task *task);
RB_HIDDEN void rb_omp_get(struct rb_omp_task *task);
RB_HIDDEN void rb_omp_put(struct rb_self *me, struct rb_omp_task *task);
RB_HIDDEN void rb_omp_taskwait(struct rb_self *me, struct rb_omp_task *task);
RB_HIDDEN void rb_omp_group_begin(struct rb_omp_task *task);
RB_HIDDEN void rb_omp_group_learn(struct rb_self *me, struct rb_omp_task *task);
RB_HIDDEN void rb_omp_group_end(struct rb_self *me, struct rb_omp_task *task);
// Dependences of a task that is being made, and of a thread that waits for them.
RB_HIDDEN void rb_omp_depend(struct rb_omp_task *task, uintptr_t address, enum rb_omp_kind kind);
RB_HIDDEN void rb_omp_depend_wait(struct rb_self *me, struct rb_omp_task *task, uintptr_t address,
                                  enum rb_omp_kind kind);

// Inside a loop: omp_loops.c.
RB_HIDDEN void rb_omp_ordered_begin(struct rb_self *me, struct rb_omp_task *task);
RB_HIDDEN void rb_omp_ordered_end(struct rb_self *me, struct rb_omp_task *task);
RB_HIDDEN void rb_omp_doacross_begin(struct rb_self *me, struct rb_omp_task *task, uint32_t dims,
                                     const int64_t (*ranges)[3]);
RB_HIDDEN void rb_omp_doacross_post(struct rb_self *me, struct rb_omp_task *task, const uint64_t *iteration);
RB_HIDDEN void rb_omp_doacross_wait(struct rb_self *me, struct rb_omp_task *task, const uint64_t *iteration);
RB_HIDDEN void rb_omp_cancel(struct rb_self *me, struct rb_omp_task *task);
RB_HIDDEN void rb_omp_cancelled(struct rb_self *me, struct rb_omp_task *task);

#endif
