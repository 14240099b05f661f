// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The order of iterations of a loop (ordered, doacross), and of threads that leave one (cancel).
#include "run/openmp/omp.h"

#include "run/sync/sync.h"

// Turns of all ordered loops of a team use one object: loops may overlap (nowait), so releases to it join.
void rb_omp_ordered_begin(struct rb_self *me, struct rb_omp_task *task)
{
    const struct rb_omp_team *team = rb_omp_team_of(me, task);

    if (team)
        rb_on_acquire(me, rb_omp_key(&team->ordered));
}

void rb_omp_ordered_end(struct rb_self *me, struct rb_omp_task *task)
{
    const struct rb_omp_team *team = rb_omp_team_of(me, task);

    if (team)
        rb_on_release(me, rb_omp_key(&team->ordered));
}

// An iteration posts to a slot by the hash of its vector, and to `posted`, which holds all posts. A waiter
// acquires the slot if the iteration was the last to post there, else `posted`. The stamp is written after
// the slot's release and before the library's own post, so a waiter finds a complete slot.
void rb_omp_doacross_begin(struct rb_self *me, struct rb_omp_task *task, uint32_t dims,
                           const int64_t (*ranges)[3])
{
    struct rb_omp_team *team = rb_omp_team_of(me, task);

    if (!team)
        return;
    task->dims = dims;
    task->loops++;
    if (ranges && !task->ranges)
        task->ranges = rb_omp_alloc(sizeof(*task->ranges));
    for (uint32_t i = 0; ranges && task->ranges && i < dims && i < RB_OMP_DIMS; i++)
        for (unsigned j = 0; j < 3; j++)
            task->ranges->of[i][j] = ranges[i][j];
    rb_spin_lock(&team->lock);
    if (!team->posts)
        rb_store_release(&team->posts, rb_omp_alloc(sizeof(*team->posts)));
    rb_spin_unlock(&team->lock);
}

static bool is_outside(const struct rb_omp_task *task, const uint64_t *iteration)
{
    bool out = false;

    for (uint32_t i = 0; task->ranges && i < task->dims && i < RB_OMP_DIMS; i++) {
        const int64_t *r = task->ranges->of[i], at = (int64_t)iteration[i];
        out |= r[2] < 0 ? at > r[0] || at < r[1] : at < r[0] || at > r[1];
    }
    return out;
}

static uint64_t stamp_of(const struct rb_omp_task *task, const uint64_t *iteration)
{
    uint64_t h = task->loops;

    for (uint32_t i = 0; i < task->dims; i++)
        h = rb_mix64(h ^ (iteration[i] + RB_GOLDEN * (i + 1)));
    return h | 1; // 0: there was no post
}

static uint64_t *slot_of(struct rb_omp_posts *posts, uint64_t stamp)
{
    return &posts->stamp[stamp >> 32 & (RB_OMP_POSTS - 1)];
}

void rb_omp_doacross_post(struct rb_self *me, struct rb_omp_task *task, const uint64_t *iteration)
{
    struct rb_omp_team *team = rb_omp_team_of(me, task);
    struct rb_omp_posts *posts = team ? rb_load_acquire(&team->posts) : NULL;

    if (!team)
        return;
    rb_on_release(me, rb_omp_key(&team->posted));
    if (posts) {
        const uint64_t stamp = stamp_of(task, iteration);
        rb_on_release(me, (uintptr_t)slot_of(posts, stamp));
        rb_store_release(slot_of(posts, stamp), stamp);
    }
}

void rb_omp_doacross_wait(struct rb_self *me, struct rb_omp_task *task, const uint64_t *iteration)
{
    struct rb_omp_team *team = rb_omp_team_of(me, task);
    struct rb_omp_posts *posts = team ? rb_load_acquire(&team->posts) : NULL;
    const uint64_t stamp = posts ? stamp_of(task, iteration) : 0;

    if (!team || is_outside(task, iteration))
        return;
    if (posts && rb_load_acquire(slot_of(posts, stamp)) == stamp)
        rb_on_acquire(me, (uintptr_t)slot_of(posts, stamp));
    else
        rb_on_acquire(me, rb_omp_key(&team->posted));
}

void rb_omp_cancel(struct rb_self *me, struct rb_omp_task *task)
{
    const struct rb_omp_team *team = rb_omp_team_of(me, task);

    if (team)
        rb_on_release(me, rb_omp_key(&team->cancelled));
}

void rb_omp_cancelled(struct rb_self *me, struct rb_omp_task *task)
{
    const struct rb_omp_team *team = rb_omp_team_of(me, task);

    if (team)
        rb_on_acquire(me, rb_omp_key(&team->cancelled));
}
