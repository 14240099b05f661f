// Barriers: who leaves a round knows what all who arrived in it knew, and nothing of the next round, which a
// slow waker would learn if there were one clock for all.
//
// So every round has a clock of its own, kept by those inside it: who arrives holds it until it has left. The
// barrier itself may go meanwhile. One thread that has been released may destroy it and free its memory, or
// make another one there, while the rest are still on their way out; they have what they came for all the
// same.
//
// An open round is found by the barrier's address. It is closed when as many have arrived as the barrier is
// for; where that is not known (made by another process, or before a fork), when the last one has left: all
// who meet in a round are inside it at one moment, so it holds them all, and perhaps the next round's too: an
// edge too many.
#include "run/intercept/barriers.h"

#include "run/intercept/callers.h"
#include "run/intercept/intercept.h"
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

// Of rounds whose barrier is in this chain; the lock is of all they hold, closed ones too.
static struct chain {
    rb_spin lock;
    struct round *open;
} __attribute__((aligned(64))) chains[CHAINS];

static uint32_t forks; // a round from before the last one is no more

void rb_barriers_reset_after_fork(void)
{
    for (unsigned i = 0; i < CHAINS; i++)
        chains[i] = (struct chain){0};
    forks++;
}

static struct chain *chain_of(uintptr_t barrier)
{
    return &chains[(barrier >> 5) * 0x9e3779b97f4a7c15u >> 58];
}

static void close_round(struct chain *c, struct round *r)
{
    struct round **link = &c->open;

    while (*link != r)
        link = &(*link)->next;
    *link = r->next;
    r->open = false;
}

// The barrier is another one from now on. Those inside its rounds keep them.
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

// How many it is for; 0: not known.
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

// The round this thread arrives in; NULL if there was no memory for it.
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

    WRITE(b, r == 0); // a wait that nothing orders is a race on it, as with locks
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
