// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// pthread's barriers. A thread that leaves a round has learnt all that was known at every arrival of that
// round. It has learnt nothing of the next round, as it could with one clock for all rounds.
//
// Every round has its own clock. The threads inside the round keep it: each one holds it from its arrival
// until it has left. The barrier may go meanwhile: a released thread may destroy it and free its memory, or
// make another barrier there. The threads still on their way out are not affected.
//
// An open round is found by the barrier's address. It is closed when as many threads have arrived as the
// barrier is for. That number is not known if another process made the barrier, or if it was made before a
// fork. Then the round is closed when the last thread has left. All threads of a round are inside it at one
// moment, so it holds them all. It may hold threads of the next round too: an edge too many.
#include "base/types.h"
#include "run/intercept/callers.h"
#include "run/intercept/intercept.h"
#include "run/intercept/lifecycle.h"
#include "run/record/record.h"
#include "run/sync/sync.h"

#define CHAINS 64u

struct round {
    struct round *next; // in its chain, while it is open
    uintptr_t barrier;
    uint32_t arrived;
    uint32_t inside; // arrived, and not yet left
    bool open;
    struct rb_sync clock;
};

// Open rounds of the barriers in this chain. The lock protects everything they hold, and closed rounds too.
static struct chain {
    rb_spin lock;
    struct round *open;
} __attribute__((aligned(64))) chains[CHAINS];

static uint32_t forks; // a round from before the last fork is no longer valid

void rb_barriers_reset_after_fork(void)
{
    for (unsigned i = 0; i < CHAINS; i++)
        chains[i] = (struct chain){0};
    forks++;
}

static struct chain *chain_of(uintptr_t barrier)
{
    return &chains[rb_hash(barrier >> 5, 6)];
}

static void close_round(struct chain *c, struct round *r)
{
    struct round **link = &c->open;

    while (*link != r)
        link = &(*link)->next;
    *link = r->next;
    r->open = false;
}

// Closes the open rounds: the address is another barrier from now on. Threads inside a round keep it.
static void forget_barrier(struct rb_self *me, uintptr_t barrier)
{
    struct chain *c = chain_of(barrier);

    rb_on_destroy(me, barrier, sizeof(pthread_barrier_t));
    rb_spin_lock(&c->lock);
    for (struct round *r = c->open, *next; r; r = next) {
        next = r->next;
        if (r->barrier == barrier)
            close_round(c, r);
    }
    rb_spin_unlock(&c->lock);
}

// Returns the number of threads that the barrier is for; 0 if it is not known.
static uint32_t parties_of(struct rb_self *me, uintptr_t barrier)
{
    struct rb_object *o = rb_object_find(me, barrier);
    uint32_t parties = 0;

    if (o) {
        parties = o->parties;
        rb_object_unlock(o);
    }
    return parties;
}

static struct round *find_open(struct chain *c, uintptr_t barrier)
{
    struct round *r = c->open;

    while (r && r->barrier != barrier)
        r = r->next;
    if (r || !(r = rb_arena_zalloc(&rb_process.arena, sizeof(*r))))
        return r;
    *r = (struct round){.next = c->open, .barrier = barrier, .open = true};
    c->open = r;
    return r;
}

// Enters the round that this thread arrives in. Returns NULL if there was no memory for it.
static struct round *enter_round(struct rb_self *me, uintptr_t barrier)
{
    const uint32_t parties = parties_of(me, barrier);
    struct chain *c = chain_of(barrier);

    rb_spin_lock(&c->lock);
    struct round *r = find_open(c, barrier);
    if (r) {
        r->arrived++;
        r->inside++;
        rb_on_release_of(me, &r->clock, (uintptr_t)r);
        if (parties && r->arrived >= parties)
            close_round(c, r);
    }
    rb_spin_unlock(&c->lock);
    if (!r)
        rb_lost_edge(me);
    return r;
}

static void leave_round(struct rb_self *me, struct round *r)
{
    struct chain *c = chain_of(r->barrier);

    rb_spin_lock(&c->lock);
    rb_on_acquire_of(me, &r->clock, (uintptr_t)r);
    const bool last = --r->inside == 0;
    if (last && r->open)
        close_round(c, r);
    if (last) {
        rb_sync_clear(me, &r->clock);
        rb_record_gone(me, (uintptr_t)r);
        rb_arena_free(&rb_process.arena, r, sizeof(*r));
    }
    rb_spin_unlock(&c->lock);
}

RB_INTERCEPT(int, pthread_barrier_init,
             (pthread_barrier_t * b, const pthread_barrierattr_t *a, unsigned count))
{
    const int r = RB_REAL(pthread_barrier_init)(b, a, count), saved = errno;
    int shared = PTHREAD_PROCESS_PRIVATE;

    WRITE(b, r == 0); // a wait that is not ordered with this is a race on the barrier, as with locks
    struct rb_self *me = r == 0 ? rb_enter() : NULL;
    if (me) {
        if (a)
            pthread_barrierattr_getpshared(a, &shared);
        forget_barrier(me, (uintptr_t)b);
        struct rb_object *o = rb_object_make(me, (uintptr_t)b);
        if (o) {
            o->parties = shared == PTHREAD_PROCESS_PRIVATE ? count : 0; // others arrive unseen
            rb_object_unlock(o);
        }
        rb_leave(me);
    }
    errno = saved;
    return r;
}

RB_INTERCEPT(int, pthread_barrier_wait, (pthread_barrier_t * b))
{
    const int before = errno;
    const uint32_t process = forks;
    struct round *round = NULL;

    RB_TOUCH(RB_HOW_ATOMIC, b, 1);
    struct rb_self *me = rb_enter();
    if (me) {
        round = enter_round(me, (uintptr_t)b);
        rb_leave(me);
    }
    errno = before;
    const int r = RB_REAL(pthread_barrier_wait)(b), saved = errno;
    if (round && (me = rb_enter()) != NULL) {
        if (process == forks) // else a handler has forked meanwhile, and this is the child
            leave_round(me, round);
        rb_leave(me);
    }
    errno = saved;
    return r;
}

RB_INTERCEPT(int, pthread_barrier_destroy, (pthread_barrier_t * b))
{
    const int r = RB_REAL(pthread_barrier_destroy)(b), saved = errno;
    struct rb_self *me = r == 0 ? rb_enter() : NULL;

    if (me) {
        forget_barrier(me, (uintptr_t)b);
        rb_leave(me);
    }
    errno = saved;
    return r;
}
