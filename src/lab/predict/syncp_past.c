// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The past of threads and locks, for queries about any earlier moment: arrays that grow at the end and are
// searched by time.
//
// The sections open at a time τ are found from the last one that began at or before τ, along `outer`. Any
// other section open at τ began earlier and was open then too, so it is on that path; sections on the path
// that have closed by τ are skipped.
//
// A lock's turns tell if a section has been overtaken. If a turn has not begun in an ideal, no later one of
// its thread and mode has: after the section's own turn the first of each thread and mode decides. A few
// turns are examined one by one; among many the first of each user is searched for.
#include <errno.h>
#include <string.h>

#include "lab/predict/syncp.h"

void *rb_syncp_room(struct syncp *p, void *items, uint32_t count, uint32_t *room, size_t item_bytes)
{
    if (RB_LIKELY(count < *room))
        return items;
    size_t more = *room ? 2 * (size_t)*room : 64 / item_bytes;
    if (more < 2)
        more = 2;
    void *bigger = more < SYNCP_NONE ? rb_arena_alloc(p->world.arena, more * item_bytes) : NULL;
    if (!bigger)
        return NULL;
    if (*room > 0) {
        memcpy(bigger, items, count * item_bytes);
        rb_arena_free(p->world.arena, items, *room * item_bytes);
    }
    *room = (uint32_t)more;
    return bigger;
}

// ---- clocks --------------------------------------------------------------------------------------------

const uint32_t *rb_syncp_clock(const struct syncp_thread *t, uint32_t time)
{
    uint32_t low = 0, high = t->versions; // version[low].from <= time < version[high].from

    if (t->version[high - 1].from <= time)
        return t->version[high - 1].clock;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (t->version[middle].from <= time)
            low = middle;
        else
            high = middle;
    }
    return t->version[low].clock;
}

// Returns the clock that the thread has from `time` on, for writing.
static uint32_t *own_version(struct syncp *p, struct syncp_thread *t, uint32_t time)
{
    struct syncp_version *last = &t->version[t->versions - 1];

    if (last->from == time) // one event may learn several times
        return last->clock;
    if (!SYNCP_ROOM(p, t->version, t->versions, t->versions_room))
        return NULL;
    uint32_t *clock = rb_arena_alloc(p->world.arena, p->clocks.room * sizeof(*clock));
    if (!clock)
        return NULL;
    memcpy(clock, t->clock, p->clocks.room * sizeof(*clock));
    t->version[t->versions++] = (struct syncp_version){clock, time};
    t->clock = clock;
    t->stretch++;
    return clock;
}

int rb_syncp_learn(struct syncp *p, struct syncp_thread *t, uint32_t time, const uint32_t *clock,
                   uint32_t thread, uint32_t learnt)
{
    if (thread == t - p->threads || learnt <= t->clock[thread])
        return 0;
    uint32_t *own = own_version(p, t, time);
    if (!own)
        return -ENOMEM;
    rb_clock_max(&p->clocks, own, clock);
    own[thread] = learnt;
    return 0;
}

int rb_syncp_raise(struct syncp *p, struct syncp_thread *t, uint32_t time, const uint32_t *clock)
{
    uint32_t *own = own_version(p, t, time);

    if (!own)
        return -ENOMEM;
    rb_clock_max(&p->clocks, own, clock);
    return 0;
}

void rb_syncp_forget(struct syncp *p, struct syncp_thread *t, uint32_t floor)
{
    uint32_t dead = 0;

    while (dead + 1 < t->versions && t->version[dead + 1].from <= floor)
        rb_arena_free(p->world.arena, t->version[dead++].clock, p->clocks.room * sizeof(uint32_t));
    if (dead == 0)
        return;
    t->versions -= dead;
    memmove(t->version, t->version + dead, t->versions * sizeof(t->version[0]));
}

// ---- sections, turns -----------------------------------------------------------------------------------

static struct syncp_user *user_of(struct syncp *p, struct syncp_object *lock, uint32_t who)
{
    for (uint32_t i = 0; i < lock->users; i++)
        if (lock->user[i].thread == who)
            return &lock->user[i];
    if (!SYNCP_ROOM(p, lock->user, lock->users, lock->users_room))
        return NULL;
    lock->user[lock->users] = (struct syncp_user){.thread = who};
    return &lock->user[lock->users++];
}

// Returns the number of the current turn; SYNCP_NONE when memory is out.
static uint32_t take_turn(struct syncp *p, struct syncp_object *lock, uint32_t who, uint32_t time)
{
    if (lock->turns > 0 && lock->turn[lock->turns - 1].thread == who)
        return lock->turns - 1;
    struct syncp_user *user = user_of(p, lock, who);
    if (!user || !SYNCP_ROOM(p, user->turn, user->count, user->room) ||
        !SYNCP_ROOM(p, lock->turn, lock->turns, lock->turns_room))
        return SYNCP_NONE;
    user->turn[user->count++] = lock->turns;
    lock->turn[lock->turns] = (struct syncp_turn){who, time};
    return lock->turns++;
}

static struct syncp_held *find_held(struct syncp_thread *t, uint32_t lock)
{
    for (uint32_t i = t->held; i-- > 0;)
        if (t->holds[i].lock == lock)
            return &t->holds[i];
    return NULL;
}

int rb_syncp_acquire(struct syncp *p, uint32_t thread, uint32_t lock, bool shared)
{
    struct syncp_thread *t = &p->threads[thread];
    const uint32_t mode = shared ? SYNCP_SHARED : 0;
    struct syncp_held *again = find_held(t, lock | mode);

    if (again) {
        again->depth++;
        return 0;
    }
    const uint32_t turn = take_turn(p, p->objects[lock], thread | mode, t->time);
    if (turn == SYNCP_NONE || !SYNCP_ROOM(p, t->section, t->sections, t->sections_room) ||
        !SYNCP_ROOM(p, t->holds, t->held, t->held_room))
        return -ENOMEM;
    t->section[t->sections] = (struct syncp_section){
        .acquired = t->time,
        .released = SYNCP_NONE,
        .lock = lock | mode,
        .turn = turn,
        .outer = t->held > 0 ? t->holds[t->held - 1].section : SYNCP_NONE,
    };
    t->holds[t->held++] = (struct syncp_held){t->sections++, lock | mode, 1};
    t->stretch++;
    return 0;
}

void rb_syncp_release(struct syncp *p, uint32_t thread, uint32_t lock, bool shared)
{
    struct syncp_thread *t = &p->threads[thread];
    struct syncp_held *h = find_held(t, lock | (shared ? SYNCP_SHARED : 0));

    if (!h || --h->depth > 0)
        return;
    t->section[h->section].released = t->time;
    memmove(h, h + 1, (size_t)(t->holds + t->held - (h + 1)) * sizeof(*h));
    t->held--;
}

uint32_t rb_syncp_section_at(const struct syncp_thread *t, uint32_t time)
{
    uint32_t low = 0, high = t->sections; // sections before low begin in time, sections from high on do not

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (t->section[middle].acquired <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1; // 0 - 1 is SYNCP_NONE
}

// Returns the first of the user's turns after `turn`, or the end of the lock's.
static uint32_t next_turn(const struct syncp_user *user, uint32_t turn, uint32_t end)
{
    uint32_t low = 0, high = user->count;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (user->turn[middle] <= turn)
            low = middle + 1;
        else
            high = middle;
    }
    return low < user->count ? user->turn[low] : end;
}

// Returns true if this turn has begun in the ideal and excludes a section of `thread`.
static bool turn_overtakes(const struct syncp_turn *turn, uint32_t thread, bool shared, const uint32_t *ideal)
{
    const uint32_t other = turn->thread & ~SYNCP_SHARED;

    return turn->begins <= ideal[other] && other != thread && !(shared && turn->thread & SYNCP_SHARED);
}

bool rb_syncp_overtaken(const struct syncp *p, const struct syncp_section *s, uint32_t thread,
                        const uint32_t *ideal)
{
    const struct syncp_object *lock = p->objects[s->lock & ~SYNCP_SHARED];
    const bool shared = s->lock & SYNCP_SHARED;

    if (lock->turns - s->turn <= rb_syncp_tuning.few_turns * lock->users) {
        for (uint32_t i = s->turn + 1; i < lock->turns; i++)
            if (turn_overtakes(&lock->turn[i], thread, shared, ideal))
                return true;
        return false;
    }
    for (uint32_t i = 0; i < lock->users; i++) {
        const uint32_t next = next_turn(&lock->user[i], s->turn, lock->turns);
        if (next < lock->turns && turn_overtakes(&lock->turn[next], thread, shared, ideal))
            return true;
    }
    return false;
}
