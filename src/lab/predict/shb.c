// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SHB, schedulable happens-before (Mathur, Kini and Viswanathan, 2018): happens-before plus an edge to each
// read from the write it saw. In an order that keeps these edges every read sees the same write. So every
// race found, not only the first, occurs in another order of the same execution.
//
// An access is checked before the edge from its own last write is taken: a read races with the write it saw
// if no other edge orders the two. The edge is skipped if the reader already knows the write or made it
// itself, which takes one comparison (lab/predict/handover.h). A write hands over a reference, and the
// writer's clock is copied only if it has changed since its last hand-over.
//
// The order of objects is that of docs/explanation/reordering.md. Locks are ordered from release to acquire, but read
// sections are not ordered among themselves. Other objects follow R5, which has the same shape with
// instants in place of sections: an event that releases is a write section, one that only acquires is a
// read section. Hard objects are ordered in full.
#include <errno.h>

#include "engine/access_history.h"
#include "lab/predict/handover.h"
#include "lab/predict/predict.h"
#include "trace/format.h"

struct shb_thread {
    struct rb_thread base;    // its clock is `clock`
    uint32_t *clock;          // NULL before its first event
    struct rb_snapshot *copy; // of the current clock; NULL: none
    bool handed;              // base.epoch has been handed over
};

struct shb_object {
    struct rb_handover last; // of the last write section, or event that releases
    struct rb_since since;   // read sections, or events that only acquire, after `last`
};

struct shb_variable {
    struct rb_cell cell;
    struct rb_handover write; // of the last write, sampled or not
} __attribute__((aligned(64)));

struct shb {
    struct rb_predict_world world;
    struct rb_clocks clocks;
    struct rb_engine engine; // for the access history
    struct shb_thread *threads;
    struct shb_object *objects;
    struct shb_variable *variables;
};

static void *shb_open(const struct rb_predict_world *w)
{
    struct shb *p = rb_arena_zalloc(w->arena, sizeof(*p));

    if (!p)
        return NULL;
    p->world = *w;
    p->clocks = (struct rb_clocks){w->arena, rb_clock_room(w->threads ? w->threads : 1)};
    p->engine = (struct rb_engine){.arena = w->arena, .width = w->threads};
    p->threads = rb_arena_zalloc(w->arena, (w->threads + UINT64_C(1)) * sizeof(*p->threads));
    p->objects = rb_arena_zalloc(w->arena, (w->locks + 1) * sizeof(*p->objects));
    p->variables = rb_arena_zalloc(w->arena, (w->variables + 1) * sizeof(*p->variables));
    return p->threads && p->objects && p->variables ? p : NULL;
}

static RB_NOINLINE struct shb_thread *start_thread(struct shb *p, uint32_t id)
{
    struct shb_thread *t = &p->threads[id];

    t->clock = rb_clock_new(&p->clocks);
    if (!t->clock)
        return NULL;
    t->base.slot = id;
    t->base.epoch = 1;
    t->base.clock = t->clock;
    t->base.clock_size = p->clocks.room;
    return t;
}

RB_INLINE struct shb_thread *thread_of(struct shb *p, uint32_t id)
{
    struct shb_thread *t = &p->threads[id];

    return RB_LIKELY(t->clock != NULL) ? t : start_thread(p, id);
}

// ---- clocks --------------------------------------------------------------------------------------------

// Advances the time and drops the snapshot. Called before or after the thread takes over news.
static void begin_clock_change(struct shb *p, struct shb_thread *t)
{
    rb_own_time_new(&t->base, &t->handed);
    rb_snapshot_drop(&p->clocks, t->copy);
    t->copy = NULL;
}

RB_INLINE void learn_handover(struct shb *p, struct shb_thread *t, const struct rb_handover *h)
{
    if (rb_handover_known(h, t->clock, t->base.slot))
        return;
    begin_clock_change(p, t);
    rb_handover_learn(&p->clocks, t->clock, h);
}

RB_INLINE int hand_over(struct shb *p, struct shb_thread *t, struct rb_handover *to)
{
    if (!t->copy) {
        t->copy = rb_snapshot_take(&p->clocks, t->clock);
        if (!t->copy)
            return -ENOMEM;
    }
    rb_snapshot_set(&p->clocks, &to->clock, t->copy);
    to->thread = t->base.slot;
    to->time = t->base.epoch;
    t->handed = true;
    return 0;
}

static void learn_since(struct shb *p, struct shb_thread *t, struct shb_object *o)
{
    for (uint32_t i = 0; i < o->since.count; i++)
        learn_handover(p, t, &o->since.entries[i].from);
    rb_since_clear(&p->clocks, &o->since); // the thread's next hand-over to the object includes them
}

static int hand_over_since(struct shb *p, struct shb_thread *t, struct shb_object *o)
{
    struct rb_since_entry *e = rb_since_of(&p->clocks, &o->since, t->base.slot);

    return e ? hand_over(p, t, &e->from) : -ENOMEM;
}

// Orders all past events of `from` before the next event of `to`.
static int thread_edge(struct shb *p, uint32_t from, uint32_t to)
{
    struct shb_thread *a = thread_of(p, from), *b = thread_of(p, to);

    if (!a || !b)
        return -ENOMEM;
    if (a == b)
        return 0;
    begin_clock_change(p, b);
    rb_clock_max(&p->clocks, b->clock, a->clock);
    b->clock[from] = a->base.epoch; // never lower than the entry that b had
    a->handed = true;
    return 0;
}

// ---- events --------------------------------------------------------------------------------------------

RB_INLINE int shb_access(struct shb *p, struct shb_thread *t, const struct rb_event *e, uint64_t at,
                         bool sampled, struct rb_partner *partner)
{
    struct shb_variable *v = &p->variables[e->target];
    const bool write = e->op == RB_WRITE;

    if (sampled) {
        rb_own_time_new(&t->base, &t->handed);
        rb_history_access(&p->engine, &t->base, &v->cell,
                          (struct rb_access){rb_event_place(at, e->location), write}, true, partner);
    }
    if (write)
        return hand_over(p, t, &v->write);
    learn_handover(p, t, &v->write);
    return 0;
}

// Orders an event after all earlier ones of its object and before all later ones.
static int order_in_full(struct shb *p, struct shb_thread *t, struct shb_object *o)
{
    learn_handover(p, t, &o->last);
    learn_since(p, t, o);
    return hand_over(p, t, &o->last);
}

static int shb_event(void *state, const struct rb_event *e, uint64_t at, bool sampled,
                     struct rb_partner *partner)
{
    struct shb *p = state;
    struct shb_thread *t = thread_of(p, e->thread);

    partner->epoch = 0;
    if (RB_UNLIKELY(!t))
        return -ENOMEM;
    if (e->op <= RB_WRITE)
        return shb_access(p, t, e, at, sampled, partner);
    if (e->op == RB_FORK)
        return thread_edge(p, e->thread, (uint32_t)e->target);
    if (e->op == RB_JOIN)
        return thread_edge(p, (uint32_t)e->target, e->thread);
    if (e->op >= RB_FIRST_QUIET)
        return 0;

    struct shb_object *o = &p->objects[e->target];
    if (RB_UNLIKELY(rb_predict_hard(&p->world, e->target)))
        return order_in_full(p, t, o);
    switch (e->op) {
    case RB_ACQUIRE:
        learn_handover(p, t, &o->last);
        learn_since(p, t, o);
        return 0;
    case RB_RELEASE:
        return hand_over(p, t, &o->last);
    case RB_RD_ACQ:
        learn_handover(p, t, &o->last);
        return 0;
    case RB_RD_REL:
        return hand_over_since(p, t, o);
    case RB_LOAD:
    case RB_WAIT:
    case RB_LEAVE:
        learn_handover(p, t, &o->last);
        return hand_over_since(p, t, o);
    default: // store, rmw, rmwrel, post, arrive
        return order_in_full(p, t, o);
    }
}

static void shb_counters(const void *state, struct rb_engine_counters *c)
{
    const struct shb *p = state;

    for (uint32_t i = 0; i < p->world.threads; i++)
        c->starved += p->threads[i].base.count.starved;
}

static void shb_close(void *state)
{
    (void)state; // the arena is its owner's
}

static struct rb_predict_states shb_states(const void *state)
{
    const struct shb *p = state;

    return (struct rb_predict_states){(const char *)p->variables, sizeof(*p->variables)};
}

const struct rb_predictor_ops rb_shb = {
    .open = shb_open, .event = shb_event, .counters = shb_counters, .close = shb_close, .states = shb_states};
