// What OpenMP orders, whichever runtime library does it: libgomp through its entry points (gomp.c,
// gomp_tasks.c), libomp through its tool interface (ompt.c). Both libraries synchronise with futexes and
// flags of their own, unseen by us; this is the order they promise, said with the verbs of sync.h.
//
//   region    who starts it -> every implicit task's beginning; every implicit task's end -> who goes on
//   after it barrier   arrivals -> departures of the same round. Rounds take two objects in turn, as
//   pthread's do; each
//             implicit task counts its own, for all of a team meet the same barriers
//   task      creation -> its beginning; its end -> taskwait of the parent, end of the taskgroup it was made
//             in, the barrier its thread waits in, and tasks of the same parent that depend on it
//   ordered, doacross, cancel   as their names say; see the functions
//
// A record's fields of type char are never read: their addresses name synchronisation objects, which go with
// the record. Records come from an arena of this file's own, which outlives a fork: the stack of a forked
// child still refers to them. Where memory is out, `rb_omp_lost` stands for the record, and every use of it
// is a lost edge (rt.h).
//
// All functions are called inside the guard. A task of NULL is a thread outside any region: nothing to order.
#ifndef RB_RUN_OPENMP_OMP_H
#define RB_RUN_OPENMP_OMP_H

#include "run/core/rt.h"

#define RB_OMP_POSTS 256 // doacross: iterations of a team that are told apart

// Which iteration posted to a slot last; the address of a slot is its object.
struct rb_omp_posts {
    uint64_t stamp[RB_OMP_POSTS];
};

// Of a doacross loop, by dimension: the first iteration, the last, the step. Waiting for one outside is no
// waiting.
#define RB_OMP_DIMS 16
struct rb_omp_ranges {
    int64_t of[RB_OMP_DIMS][3];
};

struct rb_omp_team {
    struct rb_omp_team *outer;  // of those that began on the same thread and are open; ompt.c
    struct rb_omp_posts *posts; // made by the first doacross loop, under `lock`
    struct rb_omp_task *kept;   // to be let go with the team, by `outer`; under `lock`
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
    struct rb_omp_dependence *children_depend; // what its children depend on, by address: its own thread's
    struct rb_omp_ranges
        *ranges; // of its doacross loop, where the library is asked for iterations that are none
    struct rb_omp_links *depends; // what it depends on itself: entries of its parent's
    struct rb_omp_task *outer;    // what its thread did before (ompt.c); next in a list
    uintptr_t waiting;            // object of the barrier it waits in, or 0
    uintptr_t event, memory;      // detach: the event's handle; its block of data (ompt.c)
    size_t memory_bytes;
    uint32_t refs;  // itself until it ends, its children, its event
    uint32_t round; // barriers so far
    uint32_t loops; // doacross loops so far
    uint32_t dims;  // of the last one
    uint32_t groups_lost;
    int inside; // rb_gomp_inside while its thread does something else (ompt.c)
    bool explicit, ended, waits_for_all, all_used, own_team;
    bool lossy;      // what it depends on is not known in full
    bool group_lost; // which taskgroup or team waits for it is not known, nor for its children
    char begun, children, all;
};

enum rb_omp_kind { RB_OMP_IN, RB_OMP_OUT, RB_OMP_SET, RB_OMP_ALL };

extern RB_HIDDEN struct rb_omp_task rb_omp_lost;
// What this thread is doing.
extern RB_TLS RB_HIDDEN struct rb_omp_task *rb_omp_current;
// There are tasks we do not see (target nowait): whoever waits for tasks, begins or ends one loses an edge.
extern RB_HIDDEN bool rb_omp_unseen;

RB_INLINE bool rb_omp_is_lost(const struct rb_omp_task *task)
{
    return task == &rb_omp_lost;
}

RB_INLINE uintptr_t rb_omp_key(const char *field)
{
    return (uintptr_t)field;
}

// The team whose objects a construct of the task uses; NULL when there is none. rb_omp_lost has none either.
RB_INLINE struct rb_omp_team *rb_omp_team_of(struct rb_self *me, const struct rb_omp_task *task)
{
    if (task && rb_omp_is_lost(task))
        rb_lost_edge(me);
    return task ? task->team : NULL;
}

RB_HIDDEN void *rb_omp_alloc(size_t bytes); // zeroed; NULL when the share is used up
RB_HIDDEN void rb_omp_free(void *block, size_t bytes);

// Regions. A team is its creator's to keep; a spare one stands in for those that could not be allocated.
extern RB_HIDDEN struct rb_omp_team rb_omp_spare_team;
RB_HIDDEN void rb_omp_team_begin(struct rb_self *me, struct rb_omp_team *team);
RB_HIDDEN void rb_omp_team_end(struct rb_self *me, struct rb_omp_team *team);
RB_HIDDEN struct rb_omp_task *rb_omp_implicit_begin(struct rb_self *me, struct rb_omp_team *team);
RB_HIDDEN void rb_omp_implicit_end(struct rb_self *me, struct rb_omp_task *task, bool team_alive);
RB_HIDDEN void rb_omp_arrive(struct rb_self *me, struct rb_omp_task *task);
RB_HIDDEN void rb_omp_learn(struct rb_self *me, struct rb_omp_task *task); // what the others did before it
RB_HIDDEN void rb_omp_depart(struct rb_self *me, struct rb_omp_task *task);

// Tasks: made, launched when what they are given is complete, begun, ended; `under` is what the thread goes
// back to. rb_omp_put lets go of the record.
RB_HIDDEN struct rb_omp_task *rb_omp_task_new(struct rb_omp_task *parent);
RB_HIDDEN struct rb_omp_task *
rb_omp_task_like(const struct rb_omp_task *sibling); // same parent, same taskgroup
RB_HIDDEN void rb_omp_task_launch(struct rb_self *me, struct rb_omp_task *task);
RB_HIDDEN void rb_omp_task_begin(struct rb_self *me, struct rb_omp_task *task);
RB_HIDDEN void rb_omp_task_end(struct rb_self *me, struct rb_omp_task *task, const struct rb_omp_task *under);
// Its event: the other half of a detached task's end, by whatever thread.
RB_HIDDEN void rb_omp_task_fulfill(struct rb_self *me, struct rb_omp_task *task);
RB_HIDDEN void rb_omp_get(struct rb_omp_task *task);
RB_HIDDEN void rb_omp_put(struct rb_self *me, struct rb_omp_task *task);
RB_HIDDEN void rb_omp_taskwait(struct rb_self *me, struct rb_omp_task *task);
RB_HIDDEN void rb_omp_group_begin(struct rb_omp_task *task);
RB_HIDDEN void rb_omp_group_learn(struct rb_self *me, struct rb_omp_task *task);
RB_HIDDEN void rb_omp_group_end(struct rb_self *me, struct rb_omp_task *task);
// Dependences of a task that is being made, and of whoever waits for them.
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
