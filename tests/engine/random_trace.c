// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "engine/random_trace.h"

#include <inttypes.h>
#include <string.h>

#include "base/rng.h"

#define MOST_THREADS 8u
#define MOST_OBJECTS 4u

const struct random_shape random_small = {.events_min = 10,
                                          .events_max = 120,
                                          .threads_min = 2,
                                          .threads_max = MOST_THREADS};

enum nature { MUTEX, RWLOCK, SEMAPHORE, BARRIER, ATOMIC, MIXED, NATURES };

struct object {
    enum nature nature;
    uint32_t owner, depth;          // of the write side; owner is thread index + 1
    uint32_t reading[MOST_THREADS]; // depth of read-locks
    uint32_t value;                 // semaphore
    bool inside[MOST_THREADS];      // barrier: arrived, not left
};

// The character of one trace.
struct maker {
    struct random_trace *t;
    struct rb_rng rng;
    uint32_t number[MOST_THREADS]; // thread index -> thread number
    uint32_t objects, variables, locations, functions;
    uint32_t locations_from;
    double access, write, function, fork, handover; // shares
    double stay;                                    // chance that the next event is of the same thread
    double sloppy;                                  // chance to break a rule that stands in the way
    struct object object[MOST_OBJECTS];
};

static uint32_t below(struct maker *m, uint32_t n)
{
    return (uint32_t)rb_rng_below(&m->rng, n);
}

static uint32_t between(struct maker *m, uint32_t low, uint32_t high)
{
    return low + below(m, high - low + 1);
}

static bool chance(struct maker *m, double p)
{
    return rb_rng_chance(&m->rng, p);
}

static void put(struct maker *m, uint32_t thread, enum rb_op op, uint64_t target)
{
    m->t->event[m->t->count++] = (struct rb_event){.target = target,
                                                   .thread = m->number[thread],
                                                   .location = m->locations_from + below(m, m->locations),
                                                   .op = op};
}

static void put_access(struct maker *m, uint32_t thread)
{
    put(m, thread, chance(m, m->write) ? RB_WRITE : RB_READ, below(m, m->variables));
}

// ---- synchronisation -----------------------------------------------------------------------------------

static void lock(struct maker *m, uint32_t thread, struct object *o)
{
    const bool mine = o->owner == thread + 1;

    m->t->bad_acquires += o->owner != 0 && !mine;
    o->depth = mine ? o->depth + 1 : 1;
    o->owner = thread + 1;
}

static void unlock(struct maker *m, uint32_t thread, struct object *o)
{
    if (o->owner != thread + 1)
        m->t->bad_releases++;
    else if (--o->depth == 0)
        o->owner = 0;
}

// Each says which event comes next on the object for this thread, or RB_MARK for none now.
static enum rb_op next_mutex(struct maker *m, uint32_t thread, const struct object *o)
{
    if (o->owner == thread + 1)
        return chance(m, 0.25) ? RB_ACQUIRE : RB_RELEASE;
    if (chance(m, m->sloppy))
        return chance(m, 0.5) ? RB_ACQUIRE : RB_RELEASE;
    return o->owner == 0 ? RB_ACQUIRE : RB_MARK;
}

static enum rb_op next_rwlock(struct maker *m, uint32_t thread, const struct object *o)
{
    bool read = false;

    for (uint32_t i = 0; i < MOST_THREADS; i++)
        read |= o->reading[i] > 0;
    if (chance(m, m->sloppy))
        return (enum rb_op[]){RB_ACQUIRE, RB_RELEASE, RB_RD_ACQ, RB_RD_REL}[below(m, 4)];
    if (o->owner == thread + 1)
        return RB_RELEASE;
    if (o->reading[thread] > 0)
        return chance(m, 0.2) ? RB_RD_ACQ : RB_RD_REL;
    if (o->owner != 0)
        return RB_MARK;
    return read || chance(m, 0.5) ? RB_RD_ACQ : RB_ACQUIRE;
}

static enum rb_op next_event(struct maker *m, uint32_t thread, const struct object *o)
{
    static const enum rb_op atomics[] = {RB_LOAD, RB_LOAD, RB_STORE, RB_RMW, RB_RMW_REL};
    static const enum rb_op any[] = {RB_ACQUIRE, RB_RELEASE, RB_ACQUIRE, RB_RELEASE, RB_RD_ACQ,
                                     RB_RD_REL,  RB_LOAD,    RB_STORE,   RB_RMW,     RB_RMW_REL,
                                     RB_POST,    RB_WAIT,    RB_ARRIVE,  RB_LEAVE};

    switch (o->nature) {
    case MUTEX:
        return next_mutex(m, thread, o);
    case RWLOCK:
        return next_rwlock(m, thread, o);
    case SEMAPHORE:
        return (o->value > 0 && chance(m, 0.6)) || chance(m, m->sloppy) ? RB_WAIT : RB_POST;
    case BARRIER:
        return o->inside[thread] != chance(m, m->sloppy) ? RB_LEAVE : RB_ARRIVE;
    case ATOMIC:
        return atomics[below(m, RB_LENGTH(atomics))];
    default:
        if (chance(m, 0.3)) // often as the mutex it also is
            return next_mutex(m, thread, o);
        const enum rb_op op = any[below(m, RB_LENGTH(any))];
        const bool misuse = (op == RB_ACQUIRE && o->owner != 0 && o->owner != thread + 1) ||
                            (op == RB_RELEASE && o->owner != thread + 1);
        return misuse && !chance(m, m->sloppy) ? RB_MARK : op;
    }
}

static void put_on(struct maker *m, uint32_t thread, uint32_t id, enum rb_op op)
{
    struct object *o = &m->object[id];

    if (op == RB_ACQUIRE)
        lock(m, thread, o);
    else if (op == RB_RELEASE)
        unlock(m, thread, o);
    else if (op == RB_RD_ACQ)
        o->reading[thread]++;
    else if (op == RB_RD_REL)
        o->reading[thread] -= o->reading[thread] > 0;
    else if (op == RB_POST)
        o->value++;
    else if (op == RB_WAIT)
        o->value -= o->value > 0;
    else if (op == RB_ARRIVE || op == RB_LEAVE)
        o->inside[thread] = op == RB_ARRIVE;
    if (op == RB_MARK)
        put_access(m, thread);
    else
        put(m, thread, op, id);
}

static void put_sync(struct maker *m, uint32_t thread)
{
    const uint32_t id = below(m, m->objects);

    put_on(m, thread, id, next_event(m, thread, &m->object[id]));
}

// One thread touches a variable and releases, another acquires and touches it, perhaps with something else on
// the object between: whether that is a race hangs on one edge.
static void put_handover(struct maker *m, uint32_t giver)
{
    static const enum rb_op gives[][4] = {
        [MUTEX] = {RB_RELEASE, RB_RELEASE, RB_RELEASE, RB_RELEASE},
        [RWLOCK] = {RB_RELEASE, RB_RELEASE, RB_RD_REL, RB_RD_REL},
        [SEMAPHORE] = {RB_POST, RB_POST, RB_POST, RB_POST},
        [BARRIER] = {RB_ARRIVE, RB_ARRIVE, RB_ARRIVE, RB_ARRIVE},
        [ATOMIC] = {RB_STORE, RB_STORE, RB_RMW, RB_RMW_REL},
        [MIXED] = {RB_STORE, RB_RELEASE, RB_RD_REL, RB_RMW_REL},
    };
    static const enum rb_op takes[][4] = {
        [MUTEX] = {RB_ACQUIRE, RB_ACQUIRE, RB_ACQUIRE, RB_ACQUIRE},
        [RWLOCK] = {RB_ACQUIRE, RB_ACQUIRE, RB_RD_ACQ, RB_RD_ACQ},
        [SEMAPHORE] = {RB_WAIT, RB_WAIT, RB_WAIT, RB_WAIT},
        [BARRIER] = {RB_LEAVE, RB_LEAVE, RB_LEAVE, RB_LEAVE},
        [ATOMIC] = {RB_LOAD, RB_LOAD, RB_LOAD, RB_RMW},
        [MIXED] = {RB_ACQUIRE, RB_ACQUIRE, RB_LOAD, RB_RMW},
    };
    const uint32_t id = below(m, m->objects), variable = below(m, m->variables);
    struct object *o = &m->object[id];
    const enum rb_op give = gives[o->nature][below(m, 4)], take = takes[o->nature][below(m, 4)];
    const uint32_t taker = below(m, m->t->threads), other = below(m, m->t->threads);

    if (give == RB_RELEASE && o->owner == 0)
        put_on(m, giver, id, RB_ACQUIRE);
    put(m, giver, chance(m, m->write) ? RB_WRITE : RB_READ, variable);
    if (give != RB_RELEASE || o->owner == giver + 1)
        put_on(m, giver, id, give);
    if (chance(m, 0.5))
        put_on(m, other, id, next_event(m, other, o));
    if (take != RB_ACQUIRE || o->owner == 0 || o->owner == taker + 1)
        put_on(m, taker, id, take);
    put(m, taker, RB_WRITE, variable);
}

// ---- the trace -----------------------------------------------------------------------------------------

static void put_any(struct maker *m, uint32_t thread)
{
    const uint32_t other = below(m, m->t->threads);

    if (chance(m, m->handover))
        put_handover(m, thread);
    else if (chance(m, m->access))
        put_access(m, thread);
    else if (m->functions > 0 && chance(m, m->function))
        put(m, thread, chance(m, 0.6) ? RB_ENTER : RB_EXIT, below(m, m->functions));
    else if (chance(m, m->fork))
        put(m, thread, chance(m, 0.5) ? RB_FORK : RB_JOIN, m->number[other]);
    else if (chance(m, 0.02))
        put(m, thread, RB_MARK, below(m, 3));
    else
        put_sync(m, thread);
}

// Thread numbers: 0, 1, 2 ... or spread over a larger table, so that clocks have many empty entries.
static void number_threads(struct maker *m)
{
    const bool spread = chance(m, 0.25);
    uint32_t at = spread ? below(m, 30) : 0;

    for (uint32_t i = 0; i < m->t->threads; i++) {
        m->number[i] = at;
        at += spread ? between(m, 1, 38) : 1;
    }
    m->t->sizes.threads = at;
    for (uint32_t i = m->t->threads; i-- > 1;) { // the order of the numbers is not that of the indices
        const uint32_t j = below(m, i + 1), number = m->number[i];
        m->number[i] = m->number[j];
        m->number[j] = number;
    }
}

static enum nature draw_nature(struct maker *m)
{
    return chance(m, 0.2) ? MIXED : (enum nature)below(m, NATURES);
}

static void draw_character(struct maker *m)
{
    static const double shares[] = {0.1, 0.2, 0.3, 0.5, 0.8};
    static const double stays[] = {0, 0.3, 0.6, 0.9};
    const enum nature only = draw_nature(m);
    const bool uniform = chance(m, 0.4);

    m->objects = between(m, 1, MOST_OBJECTS);
    m->variables = between(m, 1, 5);
    m->locations = between(m, 1, 6);
    m->functions = chance(m, 0.6) ? between(m, 1, 4) : 0;
    m->access = shares[below(m, RB_LENGTH(shares))];
    m->write = shares[below(m, RB_LENGTH(shares))];
    m->function = shares[below(m, 3)];
    m->fork = chance(m, 0.5) ? 0.1 : 0;
    m->handover = chance(m, 0.5) ? 0.1 : 0;
    m->stay = stays[below(m, RB_LENGTH(stays))];
    m->sloppy = chance(m, 0.5) ? 0 : chance(m, 0.5) ? 0.05 : 0.3;
    for (uint32_t i = 0; i < m->objects; i++)
        m->object[i].nature = uniform ? only : draw_nature(m);
}

void random_trace_make(struct random_trace *t, uint64_t seed, const struct random_shape *shape)
{
    struct maker m = {.t = t, .locations_from = shape->locations_from};

    t->count = 0;
    t->bad_acquires = t->bad_releases = 0;
    t->sizes = (struct test_sizes){.threads = 0};
    rb_rng_seed(&m.rng, seed);
    draw_character(&m);
    t->threads = between(&m, shape->threads_min, shape->threads_max);
    number_threads(&m);

    const uint32_t count = between(&m, shape->events_min, shape->events_max);
    const bool family = chance(&m, 0.3); // thread 0 makes the others and waits for them
    for (uint32_t i = 1; family && i < t->threads; i++)
        put(&m, 0, RB_FORK, m.number[i]);
    for (uint32_t thread = 0; t->count < count;) {
        put_any(&m, thread);
        if (!chance(&m, m.stay))
            thread = below(&m, t->threads);
    }
    for (uint32_t i = 1; family && i < t->threads; i++) {
        put(&m, 0, RB_JOIN, m.number[i]);
        put_access(&m, 0);
    }
}

void random_trace_print(const struct random_trace *t, const char *(*mark)(const void *, uint32_t),
                        const void *context)
{
    for (uint32_t i = 0; i < t->count; i++) {
        const struct rb_event *e = &t->event[i];
        fprintf(stderr, "%4u T%-3u %-6s %" PRIu64 "  at %u  %s\n", i, e->thread,
                *rb_op_info[e->op].text ? rb_op_info[e->op].text : "mark", e->target, e->location,
                mark ? mark(context, i) : "");
    }
}
