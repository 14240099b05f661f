// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "run/openmp/omp.h"

#include <errno.h>

#include "run/core/upcalls.h"
#include "run/sync/sync.h"

#define SHARE 16 // of memory=, at most, for records

RB_TLS struct rb_omp_task *rb_omp_current;
struct rb_omp_task rb_omp_lost;
struct rb_omp_team rb_omp_spare_team;
bool rb_omp_unseen;

// ---- memory --------------------------------------------------------------------------------------------

static struct rb_arena records;
static uint32_t state; // of the arena; 1: a thread is initialising it, 2: done

// The lock of the old arena may be held by a thread that does not exist here; or that thread was about to
// initialise it.
void rb_omp_after_fork(void)
{
    if (state == 2)
        rb_arena_init(&records, rb_options.memory / SHARE);
    else
        state = 0;
}

static void set_up(void)
{
    uint32_t none = 0;

    if (RB_LIKELY(rb_load_acquire(&state) == 2))
        return;
    if (rb_cas_strong_acquire(&state, &none, 1)) {
        rb_arena_init(&records, rb_options.memory / SHARE);
        rb_store_release(&state, 2);
    }
    while (rb_load_acquire(&state) != 2)
        __builtin_ia32_pause();
}

void *rb_omp_alloc(size_t bytes)
{
    const int saved = errno;

    set_up();
    void *block = rb_arena_zalloc(&records, bytes);
    errno = saved;
    return block;
}

void rb_omp_free(void *block, size_t bytes)
{
    rb_arena_free(&records, block, bytes);
}

// ---- regions and barriers ------------------------------------------------------------------------------

void rb_omp_team_begin(struct rb_self *me, struct rb_omp_team *team)
{
    rb_on_release(me, rb_omp_key(&team->begun));
}

void rb_omp_team_end(struct rb_self *me, struct rb_omp_team *team)
{
    // libomp's workers release for the last time when they arrive in the region's last barrier.
    rb_on_acquire(me, rb_omp_key(&team->ended));
    rb_on_acquire(me, rb_omp_key(&team->barrier[0]));
    rb_on_acquire(me, rb_omp_key(&team->barrier[1]));
    if (rb_omp_unseen)
        rb_lost_edge(me);
    if (team == &rb_omp_spare_team) // others may be using it
        return;
    while (team->kept) {
        struct rb_omp_task *t = team->kept;
        team->kept = t->outer;
        rb_omp_put(me, t);
    }
    if (team->posts) {
        rb_on_destroy(me, (uintptr_t)team->posts, sizeof(*team->posts));
        rb_omp_free(team->posts, sizeof(*team->posts));
        team->posts = NULL;
    }
    rb_on_destroy(me, (uintptr_t)team, sizeof(*team));
}

struct rb_omp_task *rb_omp_implicit_begin(struct rb_self *me, struct rb_omp_team *team)
{
    struct rb_omp_task *t = rb_omp_alloc(sizeof(*t));

    rb_on_acquire(me, rb_omp_key(&team->begun));
    if (!t) {
        rb_lost_edge(me);
        return &rb_omp_lost;
    }
    t->team = team;
    t->refs = 1;
    return t;
}

void rb_omp_implicit_end(struct rb_self *me, struct rb_omp_task *task, bool team_alive)
{
    if (!task)
        return;
    if (rb_omp_is_lost(task)) {
        rb_lost_edge(me);
        return;
    }
    if (team_alive)
        rb_on_release(me, rb_omp_key(&task->team->ended));
    rb_store_release(&task->ended, true);
    rb_omp_put(me, task);
}

void rb_omp_arrive(struct rb_self *me, struct rb_omp_task *task)
{
    struct rb_omp_team *team = rb_omp_team_of(me, task);

    if (!team)
        return;
    task->waiting = rb_omp_key(&team->barrier[task->round & 1]);
    rb_on_release(me, task->waiting);
}

void rb_omp_learn(struct rb_self *me, struct rb_omp_task *task)
{
    struct rb_omp_team *team = rb_omp_team_of(me, task);

    if (!team)
        return;
    if (rb_omp_unseen)
        rb_lost_edge(me);
    rb_on_acquire(me, rb_omp_key(&team->barrier[task->round & 1]));
}

void rb_omp_depart(struct rb_self *me, struct rb_omp_task *task)
{
    rb_omp_learn(me, task);
    if (!task || rb_omp_is_lost(task))
        return;
    task->waiting = 0;
    task->round++;
}

// ---- dependences ---------------------------------------------------------------------------------------
// Depend clauses order only children of the same task. Every address in a clause has an entry
// in the parent, in a tree by its hash, which the parent's thread alone uses. `in` releases
// to readers, `out` (inout, mutexinoutset) to writers, `inoutset` to setters. Each kind
// acquires the kinds that it must come after.

struct rb_omp_dependence {
    struct rb_omp_dependence *child[4];
    uintptr_t address;
    char writers, readers, setters;
};

#define LINKS 6
struct rb_omp_links {
    struct rb_omp_links *next;
    uint32_t count;
    struct {
        struct rb_omp_dependence *on;
        enum rb_omp_kind kind;
    } link[LINKS];
};

static struct rb_omp_dependence **find_dependence(struct rb_omp_task *parent, uintptr_t address)
{
    struct rb_omp_dependence **at = &parent->children_depend;
    uint64_t hash = address * RB_GOLDEN;

    for (hash ^= hash >> 32; *at && (*at)->address != address; hash >>= 2)
        at = &(*at)->child[hash & 3]; // after 32 steps the path is 0: a list
    return at;
}

static bool add_link(struct rb_omp_task *task, struct rb_omp_dependence *on, enum rb_omp_kind kind)
{
    struct rb_omp_links *l = task->depends;

    if (!l || l->count == LINKS) {
        l = rb_omp_alloc(sizeof(*l));
        if (!l)
            return false;
        l->next = task->depends;
        task->depends = l;
    }
    l->link[l->count].on = on;
    l->link[l->count++].kind = kind;
    return true;
}

void rb_omp_depend(struct rb_omp_task *task, uintptr_t address, enum rb_omp_kind kind)
{
    struct rb_omp_task *parent = rb_omp_is_lost(task) ? NULL : task->parent;
    struct rb_omp_dependence **at;

    if (!parent)
        return;
    if (rb_omp_is_lost(parent)) {
        task->lossy = true;
        return;
    }
    if (kind == RB_OMP_ALL) {
        task->waits_for_all = true;
        rb_store_release(&parent->all_used, true);
        return;
    }
    at = find_dependence(parent, address);
    if (!*at && (*at = rb_omp_alloc(sizeof(**at))) != NULL)
        (*at)->address = address;
    if (!*at || !add_link(task, *at, kind))
        task->lossy = true;
}

static void acquire_dependence(struct rb_self *me, const struct rb_omp_dependence *d, enum rb_omp_kind kind)
{
    rb_on_acquire(me, rb_omp_key(&d->writers));
    if (kind != RB_OMP_IN)
        rb_on_acquire(me, rb_omp_key(&d->readers));
    if (kind != RB_OMP_SET)
        rb_on_acquire(me, rb_omp_key(&d->setters));
}

static void acquire_dependences(struct rb_self *me, const struct rb_omp_task *task)
{
    const struct rb_omp_task *parent = task->parent;

    for (const struct rb_omp_links *l = task->depends; l; l = l->next)
        for (uint32_t i = 0; i < l->count; i++)
            acquire_dependence(me, l->link[i].on, l->link[i].kind);
    if (task->waits_for_all)
        rb_on_acquire(me, rb_omp_key(&parent->children));
    if ((task->waits_for_all || task->depends) && rb_load_acquire(&parent->all_used))
        rb_on_acquire(me, rb_omp_key(&parent->all));
}

static void release_dependences(struct rb_self *me, const struct rb_omp_task *task)
{
    for (const struct rb_omp_links *l = task->depends; l; l = l->next)
        for (uint32_t i = 0; i < l->count; i++) {
            const struct rb_omp_dependence *d = l->link[i].on;
            const enum rb_omp_kind kind = l->link[i].kind;
            rb_on_release(me, rb_omp_key(kind == RB_OMP_IN    ? &d->readers
                                         : kind == RB_OMP_OUT ? &d->writers
                                                              : &d->setters));
        }
    if (task->waits_for_all)
        rb_on_release(me, rb_omp_key(&task->parent->all));
}

void rb_omp_depend_wait(struct rb_self *me, struct rb_omp_task *task, uintptr_t address,
                        enum rb_omp_kind kind)
{
    if (!task)
        return;
    if (rb_omp_is_lost(task) || rb_omp_unseen) {
        rb_lost_edge(me);
        if (rb_omp_is_lost(task))
            return;
    }
    if (rb_load_acquire(&task->all_used))
        rb_on_acquire(me, rb_omp_key(&task->all));
    if (kind == RB_OMP_ALL) {
        rb_on_acquire(me, rb_omp_key(&task->children));
        return;
    }
    const struct rb_omp_dependence *d = *find_dependence(task, address);
    if (d)
        acquire_dependence(me, d, kind);
}

static void free_dependences(struct rb_self *me, struct rb_omp_dependence *d)
{
    if (!d)
        return;
    for (unsigned i = 0; i < RB_LENGTH(d->child); i++)
        free_dependences(me, d->child[i]);
    rb_on_destroy(me, (uintptr_t)d, sizeof(*d));
    rb_omp_free(d, sizeof(*d));
}

// ---- tasks ---------------------------------------------------------------------------------------------

struct rb_omp_task *rb_omp_task_new(struct rb_omp_task *parent)
{
    struct rb_omp_task *t = rb_omp_alloc(sizeof(*t));

    if (!t)
        return &rb_omp_lost;
    t->refs = 1;
    t->explicit = true;
    t->parent = parent;
    rb_omp_get(parent);
    if (parent) {
        t->team = parent->team;
        t->group = parent->group;
        t->group_lost = rb_omp_is_lost(parent) || parent->group_lost || parent->groups_lost;
    }
    return t;
}

struct rb_omp_task *rb_omp_task_like(const struct rb_omp_task *sibling)
{
    struct rb_omp_task *t = rb_omp_is_lost(sibling) ? NULL : rb_omp_alloc(sizeof(*t));

    if (!t)
        return &rb_omp_lost;
    t->refs = 1;
    t->explicit = true;
    t->parent = sibling->parent;
    rb_omp_get(t->parent);
    t->team = sibling->team;
    t->group = sibling->group;
    t->group_lost = sibling->group_lost;
    return t;
}

void rb_omp_get(struct rb_omp_task *task)
{
    if (task && !rb_omp_is_lost(task))
        rb_fetch_add_relaxed(&task->refs, 1);
}

void rb_omp_put(struct rb_self *me, struct rb_omp_task *task)
{
    while (task && !rb_omp_is_lost(task) && rb_fetch_sub_acq_rel(&task->refs, 1) == 1) {
        struct rb_omp_task *parent = task->parent;
        while (task->depends) {
            struct rb_omp_links *l = task->depends;
            task->depends = l->next;
            rb_omp_free(l, sizeof(*l));
        }
        free_dependences(me, task->children_depend);
        rb_omp_free(task->ranges, sizeof(*task->ranges));
        rb_on_destroy(me, (uintptr_t)task, sizeof(*task));
        rb_omp_free(task, sizeof(*task));
        task = parent;
    }
}

void rb_omp_task_launch(struct rb_self *me, struct rb_omp_task *task)
{
    if (rb_omp_is_lost(task))
        rb_lost_edge(me);
    else
        rb_on_release(me, rb_omp_key(&task->begun));
}

void rb_omp_task_begin(struct rb_self *me, struct rb_omp_task *task)
{
    if (rb_omp_is_lost(task) || rb_omp_unseen || task->lossy)
        rb_lost_edge(me);
    if (rb_omp_is_lost(task))
        return;
    rb_on_acquire(me, rb_omp_key(&task->begun));
    acquire_dependences(me, task);
}

// Releases to every thread that may wait for the task, except in barriers.
static void release_task(struct rb_self *me, const struct rb_omp_task *task)
{
    const struct rb_omp_task *parent = task->parent;

    if (rb_omp_unseen || task->lossy || task->group_lost)
        rb_lost_edge(me);
    // An ended parent does not wait for children, but a task with
    // depend(inout: omp_all_memory) may wait for them.
    if (parent && !rb_omp_is_lost(parent) &&
        (!rb_load_acquire(&parent->ended) || rb_load_acquire(&parent->all_used)))
        rb_on_release(me, rb_omp_key(&parent->children));
    if (task->group)
        rb_on_release(me, rb_omp_key(&task->group->done));
    release_dependences(me, task);
}

void rb_omp_task_end(struct rb_self *me, struct rb_omp_task *task, const struct rb_omp_task *under)
{
    if (rb_omp_is_lost(task) || (under && rb_omp_is_lost(under)))
        rb_lost_edge(me);
    if (rb_omp_is_lost(task))
        return;
    release_task(me, task);
    if (under && under->waiting)
        rb_on_release(me, under->waiting);
    else if (!under && task->team) // its implicit task has ended: in the region's last barrier
        rb_on_release(me, rb_omp_key(&task->team->ended));
    rb_store_release(&task->ended, true);
}

void rb_omp_task_fulfill(struct rb_self *me, struct rb_omp_task *task)
{
    if (rb_omp_is_lost(task)) {
        rb_lost_edge(me);
        return;
    }
    rb_on_release(me, rb_omp_key(&task->begun)); // for a creator that waits for it
    release_task(me, task);
    if (!task->team)
        return;
    rb_on_release(me, rb_omp_key(&task->team->ended));
    rb_on_release(me, rb_omp_key(&task->team->barrier[0])); // the team may wait in either
    rb_on_release(me, rb_omp_key(&task->team->barrier[1]));
}

void rb_omp_taskwait(struct rb_self *me, struct rb_omp_task *task)
{
    if (!task)
        return;
    if (rb_omp_is_lost(task) || rb_omp_unseen)
        rb_lost_edge(me);
    if (!rb_omp_is_lost(task))
        rb_on_acquire(me, rb_omp_key(&task->children));
}

// After a failed allocation of a group, groups inside it are not tried: they end in the reverse order.
void rb_omp_group_begin(struct rb_omp_task *task)
{
    struct rb_omp_group *g;

    if (!task || rb_omp_is_lost(task))
        return;
    g = task->groups_lost ? NULL : rb_omp_alloc(sizeof(*g));
    if (!g) {
        task->groups_lost++;
        return;
    }
    g->outer = task->group;
    task->group = g;
}

void rb_omp_group_learn(struct rb_self *me, struct rb_omp_task *task)
{
    if (!task)
        return;
    if (rb_omp_is_lost(task) || task->groups_lost || rb_omp_unseen)
        rb_lost_edge(me);
    if (!rb_omp_is_lost(task) && !task->groups_lost && task->group)
        rb_on_acquire(me, rb_omp_key(&task->group->done));
}

void rb_omp_group_end(struct rb_self *me, struct rb_omp_task *task)
{
    struct rb_omp_group *g;

    rb_omp_group_learn(me, task);
    if (!task || rb_omp_is_lost(task))
        return;
    if (task->groups_lost) {
        task->groups_lost--;
        return;
    }
    g = task->group;
    if (!g)
        return;
    task->group = g->outer;
    rb_on_destroy(me, (uintptr_t)g, sizeof(*g));
    rb_omp_free(g, sizeof(*g));
}
