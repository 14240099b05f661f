// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Synchronisation of generated threads: the choice of the next lock, semaphore, barrier or atomic, and the
// data that it protects while it is held. Two promises make "race 0 means no race" true:
//
//   A. No operation blocks. An operation is emitted only if it could return at that point of the execution:
//      a mutex is free, a read-write lock has no writer (to write: no holder), a semaphore is positive, a
//      round is full. If the drawn object is not available, gen_open emits nothing and its caller does an
//      access.
//   B. Between a thread's access to guarded data and a later one of another thread, one of them a write,
//      the first thread releases and then the second acquires one object that keeps the state of the
//      release:
//        mutex        its holder accesses the data of a mutex
//        read-write   the write holder writes, read holders read
//        channel      an item goes through full and empty by post and wait. A wait follows every earlier
//                     post of its semaphore, so any item queued there may be taken. The first user of an
//                     item needs no wait, so the semaphores start at 0
//        spin lock    rmw to take, a release store to give up; the holder's clock includes the value
//                     that the store replaces
//        flag         its owner, the only thread that stores, writes the data before the first store and
//                     never after; other threads read it once they have acquired the flag
//        barrier      in even rounds a thread uses its own slot, in odd rounds it reads any slot (gen.c)
#include "lab/generate/gen_world.h"

enum { CONSUME, PRODUCE }; // directions of a channel; also the offset of its semaphore

// Adds the `events` that will close the section being opened.
static void add_debt(struct gen *g, uint32_t events)
{
    g->debt += events;
    g->open += events;
}

static void pay_back(struct gen *g)
{
    g->debt--;
    g->open--;
}

static void put_mutex(struct gen *g, const struct gen_thread *t, enum rb_op op, uint32_t id)
{
    gen_put(g, t, op, id, t->stack[t->depth], GEN_SYNC);
    g->sync++;
}

static void put_rich(struct gen *g, const struct gen_thread *t, enum rb_op op, uint32_t id)
{
    gen_put(g, t, op, id, t->stack[t->depth], GEN_SYNC);
    g->sync++;
    g->rich++;
}

static struct gen_frame *push_frame(struct gen *g, struct gen_thread *t, enum gen_section section,
                                    uint32_t object, uint64_t guard)
{
    struct gen_frame *f = &t->frame[t->held++];
    const struct gen_range data = gen_guarded(g, guard);

    *f = (struct gen_frame){.data = data,
                            .last = data.first + data.count,
                            .object = object,
                            .section = (uint8_t)section,
                            .depth = t->depth};
    add_debt(g, 1);
    return f;
}

static uint32_t draw_mutex(struct gen *g, const struct gen_thread *t)
{
    const uint64_t r = rb_rng_next(&g->rng);
    const uint64_t choice = (uint32_t)r, rest = r >> 32;

    if (choice < g->far_share)
        return (uint32_t)(rest * g->locks >> 32);
    if (choice < g->far_share + g->near_share && t->group_size > 1) {
        // another thread's lock: skip ahead by 1 .. size - 1 places
        uint32_t place = t->id - t->group_first + 1 + (uint32_t)((rest & 0xff) * (t->group_size - 1) >> 8);
        if (place >= t->group_size)
            place -= t->group_size;
        t = &g->thread[t->group_first + place];
    }
    const uint64_t skewed = (rest & 0xffff) * (rest >> 16); // of 2^32; the first own locks are the hot ones
    return t->home + g->homes * (uint32_t)(skewed * t->home_count >> 32);
}

static bool open_mutex(struct gen *g, struct gen_thread *t)
{
    for (int tries = 0; tries < 4; tries++) {
        const uint32_t lock = draw_mutex(g, t);
        if (g->locked[lock])
            continue;
        g->locked[lock] = true;
        put_mutex(g, t, RB_ACQUIRE, lock);
        push_frame(g, t, GEN_MUTEX, lock, lock);
        return true;
    }
    return false;
}

static bool open_rwlock(struct gen *g, struct gen_thread *t, uint32_t i, uint32_t bits)
{
    struct gen_rwlock *l = &g->rwlock[i];

    if (l->writer)
        return false;
    if (bits % 4 == 0 && l->readers == 0) {
        l->writer = true;
        put_rich(g, t, RB_ACQUIRE, g->first_rwlock + i);
        push_frame(g, t, GEN_WRITE_LOCK, i, g->guard_rwlock + i);
    } else {
        l->readers++;
        put_rich(g, t, RB_RD_ACQ, g->first_rwlock + i);
        push_frame(g, t, GEN_READ_LOCK, i, g->guard_rwlock + i)->read_only = true;
    }
    return true;
}

static bool open_channel(struct gen *g, struct gen_thread *t, uint32_t i, uint32_t bits)
{
    struct gen_channel *c = &g->channel[i];
    unsigned way = bits % 2;
    bool waited = true;
    uint8_t slot;

    if (c->queued[way] == 0 && !(way == PRODUCE && c->fresh > 0))
        way = !way;
    if (way == PRODUCE && c->fresh > 0) {
        slot = --c->fresh;
        waited = false;
    } else if (c->queued[way] > 0) {
        slot = c->queue[way][--c->queued[way]];
        put_rich(g, t, RB_WAIT, g->first_channel + 2 * i + way);
    } else {
        return false; // other threads hold all items
    }
    push_frame(g, t, way == PRODUCE ? GEN_PRODUCE : GEN_CONSUME, i,
               g->guard_channel + i * (uint64_t)GEN_SLOTS + slot)
        ->slot = slot;
    return waited;
}

static bool open_spin(struct gen *g, struct gen_thread *t, uint32_t i)
{
    if (g->spin_held[i]) {
        put_rich(g, t, RB_LOAD, g->first_spin + i); // reads the taken lock and gives up
        return true;
    }
    g->spin_held[i] = true;
    put_rich(g, t, RB_RMW, g->first_spin + i);
    push_frame(g, t, GEN_SPIN, i, g->guard_spin + i);
    return true;
}

static bool use_flag(struct gen *g, struct gen_thread *t, uint32_t i, uint32_t bits)
{
    static const enum rb_op others[4] = {RB_LOAD, RB_LOAD, RB_RMW, RB_RMW_REL};
    const enum rb_op op = t->id == i * GEN_GROUP ? RB_STORE : others[bits % 4];

    if (op == RB_STORE && !g->flag_published[i]) {
        push_frame(g, t, GEN_PUBLISH, i, g->guard_flag + i);
        return false;
    }
    put_rich(g, t, op, g->first_flag + i);
    if (g->flag_published[i] && op != RB_RMW_REL)
        t->published = i;
    return true;
}

static void barrier_arrive(struct gen *g, struct gen_thread *t)
{
    struct gen_barrier *b = &g->barrier[t->id / GEN_GROUP];

    if (b->arrived++ == 0)
        add_debt(g, 2 * t->group_size);
    put_rich(g, t, RB_ARRIVE, g->first_barrier + 2 * (t->id / GEN_GROUP) + b->round % 2);
    pay_back(g);
    t->barrier = GEN_ARRIVED;

    g->ready_count--;
    g->ready[t->ready_at] = g->ready[g->ready_count];
    g->thread[g->ready[t->ready_at]].ready_at = t->ready_at;
    t->ready_at = GEN_NONE;
    if (b->arrived < t->group_size)
        return;
    b->arrived = 0;
    b->round++;
    for (uint32_t id = t->group_first; id < t->group_first + t->group_size; id++) {
        g->thread[id].barrier = GEN_MAY_LEAVE;
        g->thread[id].ready_at = g->ready_count;
        g->ready[g->ready_count++] = id;
    }
}

bool gen_barrier_step(struct gen *g, struct gen_thread *t)
{
    if (!gen_has_barrier(g, t))
        return false;
    if (t->barrier == GEN_MAY_LEAVE) {
        put_rich(g, t, RB_LEAVE, g->first_barrier + 2 * (t->id / GEN_GROUP) + t->rounds % 2);
        pay_back(g);
        t->rounds++;
        t->barrier = GEN_RUNNING;
        return true;
    }
    if (t->barrier == GEN_RUNNING && t->held == 0 && g->barrier[t->id / GEN_GROUP].arrived > 0) {
        barrier_arrive(g, t);
        return true;
    }
    return false;
}

// Draws the index of an object: one of the thread's group, or a foreign one. Objects other than mutexes
// belong to groups, as mutexes belong to threads.
static uint32_t of_group(const struct gen *g, const struct gen_thread *t, uint32_t count, uint64_t r)
{
    if ((uint32_t)r < g->far_share + g->near_share)
        return (uint32_t)((r >> 32) * count >> 32);
    return t->id / GEN_GROUP % count;
}

static bool open_rich(struct gen *g, struct gen_thread *t)
{
    const uint64_t r = rb_rng_next(&g->rng);
    const uint32_t bits = rb_rng_next(&g->rng) & 0xffff, kind = bits >> 8;

    if (kind < 112)
        return open_rwlock(g, t, of_group(g, t, g->rwlocks, r), bits);
    if (kind < 160)
        return open_channel(g, t, of_group(g, t, g->channels, r), bits);
    if (kind < 200)
        return open_spin(g, t, of_group(g, t, g->spins, r));
    if (kind < 252)
        return use_flag(g, t, of_group(g, t, g->flags, r), bits);
    if (!gen_has_barrier(g, t) || gen_slack(g) < 2 * t->group_size)
        return false;
    barrier_arrive(g, t);
    return true;
}

bool gen_open(struct gen *g, struct gen_thread *t)
{
    if (gen_slack(g) < 2)
        return false;
    if (t->held == 0 && g->rich_share > 0) {
        if (gen_barrier_step(g, t))
            return true;
        if ((uint32_t)rb_rng_next(&g->rng) < g->rich_now)
            return open_rich(g, t);
    }
    return open_mutex(g, t);
}

void gen_exit(struct gen *g, struct gen_thread *t)
{
    const uint32_t function = t->stack[t->depth];

    gen_put(g, t, RB_EXIT, function, function, GEN_SYNC);
    t->depth--;
    g->debt--;
}

bool gen_close(struct gen *g, struct gen_thread *t)
{
    const struct gen_frame *f = &t->frame[t->held - 1];
    struct gen_channel *c;

    if (t->depth > f->depth) { // the function that opened the section closes it
        gen_exit(g, t);
        return true;
    }
    t->held--;
    pay_back(g);
    switch ((enum gen_section)f->section) {
    case GEN_MUTEX:
        g->locked[f->object] = false;
        put_mutex(g, t, RB_RELEASE, f->object);
        break;
    case GEN_READ_LOCK:
        g->rwlock[f->object].readers--;
        put_rich(g, t, RB_RD_REL, g->first_rwlock + f->object);
        break;
    case GEN_WRITE_LOCK:
        g->rwlock[f->object].writer = false;
        put_rich(g, t, RB_RELEASE, g->first_rwlock + f->object);
        break;
    case GEN_PRODUCE:
        c = &g->channel[f->object];
        c->queue[CONSUME][c->queued[CONSUME]++] = f->slot;
        put_rich(g, t, RB_POST, g->first_channel + 2 * f->object + CONSUME);
        break;
    case GEN_CONSUME:
        c = &g->channel[f->object];
        c->queue[PRODUCE][c->queued[PRODUCE]++] = f->slot;
        put_rich(g, t, RB_POST, g->first_channel + 2 * f->object + PRODUCE);
        break;
    case GEN_SPIN:
        g->spin_held[f->object] = false;
        put_rich(g, t, RB_STORE, g->first_spin + f->object);
        break;
    case GEN_PUBLISH:
        g->flag_published[f->object] = true;
        put_rich(g, t, RB_STORE, g->first_flag + f->object);
        break;
    }
    return true;
}
