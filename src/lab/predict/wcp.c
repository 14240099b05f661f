// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// WCP, weak-causally-precedes (Kini, Mathur and Viswanathan, 2017): an order weaker than happens-before, so
// that it finds races in other orders of the critical sections too. It is the smallest relation with
//   (a) the end of a section comes before an access in a later section of the same lock that conflicts with
//       an access in the first,
//   (b) the end of a section comes before the end of a later section of the same lock if an event of the
//       first comes before an event of the second,
//   (c) if x comes before y and y happens before e, x comes before e; if x happens before y and y comes
//       before e, x comes before e,
// and program order: that of each thread, fork, join, and the edges of R5 (docs/explanation/reordering.md), which no
// other order could reverse. In (b) "before" means either relation. The first reported race occurs in
// another order, unless that order is a deadlock. For read-write locks, (a) and (b) hold for two sections
// that exclude each other, that is, unless both read-lock.
//
// The clocks are those of the paper, but clocks are never compared, and a clock is copied only if it has
// changed since its last copy (lab/predict/handover.h):
//   - P_t[u] >= n implies that P_t contains all of H_u as handed over at n: each n of u came into a clock
//     together with that H. So one number identifies a release in rules (a) and (b).
//   - H_t[u] >= n implies the same of H_t, and that P_t contains all of P_u as handed over then: P travels
//     wherever H does.
//   - C_t[u] >= n implies that C_t contains all of C_u, P_t of P_u, H_t of H_u as handed over then.
#include "lab/predict/wcp.h"

#include <errno.h>
#include <string.h>

#include "trace/format.h"

#define FEW 4u

static void *wcp_open(const struct rb_predict_world *w)
{
    struct wcp *p = rb_arena_zalloc(w->arena, sizeof(*p));

    if (!p)
        return NULL;
    p->world = *w;
    p->clocks = (struct rb_clocks){w->arena, rb_clock_room(w->threads ? w->threads : 1)};
    p->engine = (struct rb_engine){.arena = w->arena, .width = w->threads};
    p->threads = rb_arena_zalloc(w->arena, (w->threads + UINT64_C(1)) * sizeof(*p->threads));
    p->objects = rb_arena_zalloc(w->arena, (w->locks + 1) * sizeof(*p->objects));
    p->cells = rb_arena_zalloc(w->arena, (w->variables + 1) * sizeof(*p->cells));
    return p->threads && p->objects && p->cells ? p : NULL;
}

static RB_NOINLINE struct wcp_thread *start_thread(struct wcp *p, uint32_t id)
{
    struct wcp_thread *t = &p->threads[id];

    t->h = rb_clock_new(&p->clocks);
    t->p = rb_clock_new(&p->clocks);
    t->c = rb_clock_new(&p->clocks);
    if (!t->h || !t->p || !t->c)
        return NULL;
    t->base.slot = id;
    t->base.epoch = 1;
    t->base.clock = t->c;
    t->base.clock_size = p->clocks.room;
    return t;
}

RB_INLINE struct wcp_thread *thread_of(struct wcp *p, uint32_t id)
{
    struct wcp_thread *t = &p->threads[id];

    return RB_LIKELY(t->c != NULL) ? t : start_thread(p, id);
}

// ---- clocks --------------------------------------------------------------------------------------------

// Advances the time and drops the snapshot. Called before or after the thread takes over news.
static void begin_clock_change(struct wcp *p, struct wcp_thread *t, struct rb_snapshot **copy)
{
    rb_own_time_new(&t->base, &t->handed);
    rb_snapshot_drop(&p->clocks, *copy);
    *copy = NULL;
}

bool wcp_learn_p(struct wcp *p, struct wcp_thread *t, const struct rb_handover *h)
{
    if (rb_handover_known(h, t->p, t->base.slot))
        return false;
    begin_clock_change(p, t, &t->copy_p);
    rb_handover_learn(&p->clocks, t->p, h);
    rb_clock_max(&p->clocks, t->c, t->p);
    return true;
}

static void learn_others_p(struct wcp *p, struct wcp_thread *t, const struct rb_snapshot *its_p)
{
    if (!rb_clock_max_rose(&p->clocks, t->p, its_p->time))
        return;
    begin_clock_change(p, t, &t->copy_p);
    rb_clock_max(&p->clocks, t->c, t->p);
}

// Learns from a lock: H and P each from those of the hand-over.
static void learn_lock(struct wcp *p, struct wcp_thread *t, const struct rb_handover *h,
                       const struct rb_snapshot *its_p)
{
    if (rb_handover_known(h, t->h, t->base.slot))
        return;
    begin_clock_change(p, t, &t->copy_h);
    rb_handover_learn(&p->clocks, t->h, h);
    learn_others_p(p, t, its_p);
}

// Learns from program order between threads: all three clocks, and the other thread's own time in C.
static void learn_hard(struct wcp *p, struct wcp_thread *t, const struct rb_handover *h,
                       const struct rb_snapshot *its_p, const struct rb_snapshot *its_c)
{
    const struct rb_handover hard = {(struct rb_snapshot *)its_c, h->thread, h->time};

    if (rb_handover_known(h, t->c, t->base.slot))
        return;
    begin_clock_change(p, t, &t->copy_h);
    begin_clock_change(p, t, &t->copy_c);
    rb_handover_learn(&p->clocks, t->h, h);
    rb_handover_learn(&p->clocks, t->c, &hard);
    learn_others_p(p, t, its_p);
    t->hard++;
}

static int copy_of(struct wcp *p, const uint32_t *clock, struct rb_snapshot **copy, struct rb_snapshot **to)
{
    if (!*copy)
        *copy = rb_snapshot_take(&p->clocks, clock);
    if (!*copy)
        return -ENOMEM;
    rb_snapshot_set(&p->clocks, to, *copy);
    return 0;
}

int wcp_hand_over(struct wcp *p, struct wcp_thread *t, struct rb_handover *to)
{
    if (copy_of(p, t->h, &t->copy_h, &to->clock) < 0)
        return -ENOMEM;
    to->thread = t->base.slot;
    to->time = t->base.epoch;
    t->handed = true;
    return 0;
}

static int hand_over_lock(struct wcp *p, struct wcp_thread *t, struct rb_handover *to,
                          struct rb_snapshot **to_p)
{
    if (copy_of(p, t->p, &t->copy_p, to_p) < 0)
        return -ENOMEM;
    return wcp_hand_over(p, t, to);
}

// Applies rule (b) to the open sections of t before program order leads from t to another thread. Learning
// for one section may enable another.
static void leave_sections(struct wcp *p, struct wcp_thread *t)
{
    for (bool more = t->depth > 0; more;) {
        more = false;
        for (uint32_t i = 0; i < t->depth; i++)
            more |= wcp_queue_consume(p, t, &t->sections[i]);
    }
}

static int hand_over_hard(struct wcp *p, struct wcp_thread *t, struct rb_handover *to,
                          struct rb_snapshot **to_p, struct rb_snapshot **to_c)
{
    leave_sections(p, t);
    if (copy_of(p, t->c, &t->copy_c, to_c) < 0)
        return -ENOMEM;
    t->handed_by = t->base.epoch;
    return hand_over_lock(p, t, to, to_p);
}

// Orders all past events of `from` before the next event of `to`.
static int thread_edge(struct wcp *p, uint32_t from, uint32_t to)
{
    struct wcp_thread *a = thread_of(p, from), *b = thread_of(p, to);

    if (!a || !b)
        return -ENOMEM;
    if (a == b)
        return 0;
    leave_sections(p, a);
    begin_clock_change(p, b, &b->copy_h);
    begin_clock_change(p, b, &b->copy_p);
    begin_clock_change(p, b, &b->copy_c);
    rb_clock_max(&p->clocks, b->h, a->h);
    rb_clock_max(&p->clocks, b->p, a->p);
    rb_clock_max(&p->clocks, b->c, a->c);
    b->h[from] = b->c[from] = a->base.epoch;
    a->handed = true;
    a->handed_by = a->base.epoch;
    b->hard++;
    return 0;
}

// ---- sections ------------------------------------------------------------------------------------------

struct wcp_section *wcp_section_of(const struct wcp_thread *t, uint64_t lock)
{
    for (uint32_t i = t->depth; i-- > 0;)
        if (t->sections[i].lock == lock)
            return &t->sections[i];
    return NULL;
}

static int begin_section(struct wcp *p, struct wcp_thread *t, uint64_t lock, bool reading)
{
    if (t->depth == t->room) {
        const uint32_t room = t->room ? 2 * t->room : FEW;
        struct wcp_section *bigger = rb_arena_zalloc(p->world.arena, room * sizeof(*bigger));
        if (!bigger)
            return -ENOMEM;
        if (t->room) {
            memcpy(bigger, t->sections, t->room * sizeof(*bigger));
            rb_arena_free(p->world.arena, t->sections, t->room * sizeof(*bigger));
        }
        t->sections = bigger;
        t->room = room;
    }
    struct wcp_section *s = &t->sections[t->depth++]; // keeps the room for its uses
    rb_own_time_new(&t->base, &t->handed);
    s->lock = lock;
    s->depth = 1;
    s->begun = t->base.epoch;
    s->reading = reading;
    s->last = NULL;
    return 0;
}

static void remove_section(struct wcp_thread *t, struct wcp_section *s)
{
    const struct wcp_section gone = *s;
    const uint32_t behind = (uint32_t)(&t->sections[--t->depth] - s);

    memmove(s, s + 1, behind * sizeof(*s));
    t->sections[t->depth] = gone; // for the room of its uses
}

static int acquire_lock(struct wcp *p, struct wcp_thread *t, uint64_t lock, bool reading)
{
    struct wcp_object *o = &p->objects[lock];
    struct wcp_section *s = wcp_section_of(t, lock);

    if (s) {
        s->depth++;
        return 0;
    }
    learn_lock(p, t, &o->last, o->last_p);
    if (!reading) {
        for (uint32_t i = 0; i < o->since.count; i++)
            learn_lock(p, t, &o->since.entries[i].from, o->since.entries[i].second);
        rb_since_clear(&p->clocks, &o->since); // the end of this section includes them
    }
    return begin_section(p, t, lock, reading);
}

static int release_lock(struct wcp *p, struct wcp_thread *t, uint64_t lock)
{
    struct wcp_object *o = &p->objects[lock];
    struct wcp_section *s = wcp_section_of(t, lock);

    if (s && --s->depth > 0)
        return 0;
    if (!s) // the discipline is broken: an edge for later acquires, and no section
        return hand_over_lock(p, t, &o->last, &o->last_p);
    const bool reading = s->reading;
    rb_own_time_new(&t->base, &t->handed); // a thread may know the section from within, but not its end
    wcp_queue_consume(p, t, s);
    if (wcp_section_end(p, t, s) < 0 || wcp_queue_add(p, t, o, s) < 0)
        return -ENOMEM;
    remove_section(t, s);
    if (!reading)
        return hand_over_lock(p, t, &o->last, &o->last_p);
    struct rb_since_entry *e = rb_since_of(&p->clocks, &o->since, t->base.slot);
    return e ? hand_over_lock(p, t, &e->from, &e->second) : -ENOMEM;
}

// ---- events --------------------------------------------------------------------------------------------

static int wcp_access(struct wcp *p, struct wcp_thread *t, const struct rb_event *e, uint64_t at,
                      bool sampled, struct rb_partner *partner)
{
    const bool write = e->op == RB_WRITE;

    if (t->depth && wcp_sections_access(p, t, e->target, write) < 0)
        return -ENOMEM;
    if (sampled) {
        rb_own_time_new(&t->base, &t->handed);
        rb_history_access(&p->engine, &t->base, &p->cells[e->target],
                          (struct rb_access){rb_event_place(at, e->location), write}, true, partner);
    }
    return 0;
}

// Orders an event of an object of R5: after all earlier ones, or if it only acquires, after those that
// release.
static int order_event(struct wcp *p, struct wcp_thread *t, struct wcp_object *o, bool releases)
{
    learn_hard(p, t, &o->last, o->last_p, o->last_c);
    if (!releases) {
        struct rb_since_entry *e = rb_since_of(&p->clocks, &o->since, t->base.slot);
        return e ? hand_over_hard(p, t, &e->from, &e->second, &e->third) : -ENOMEM;
    }
    for (uint32_t i = 0; i < o->since.count; i++) {
        const struct rb_since_entry *e = &o->since.entries[i];
        learn_hard(p, t, &e->from, e->second, e->third);
    }
    rb_since_clear(&p->clocks, &o->since);
    return hand_over_hard(p, t, &o->last, &o->last_p, &o->last_c);
}

static int wcp_event(void *state, const struct rb_event *e, uint64_t at, bool sampled,
                     struct rb_partner *partner)
{
    struct wcp *p = state;
    struct wcp_thread *t = thread_of(p, e->thread);

    partner->epoch = 0;
    p->now = at;
    if (RB_UNLIKELY(!t))
        return -ENOMEM;
    if (e->op <= RB_WRITE)
        return wcp_access(p, t, e, at, sampled, partner);
    if (e->op == RB_FORK)
        return thread_edge(p, e->thread, (uint32_t)e->target);
    if (e->op == RB_JOIN)
        return thread_edge(p, (uint32_t)e->target, e->thread);
    if (e->op >= RB_FIRST_QUIET)
        return 0;

    if (RB_UNLIKELY(rb_predict_hard(&p->world, e->target)))
        return order_event(p, t, &p->objects[e->target], true);
    switch (e->op) {
    case RB_ACQUIRE:
    case RB_RD_ACQ:
        return acquire_lock(p, t, e->target, e->op == RB_RD_ACQ);
    case RB_RELEASE:
    case RB_RD_REL:
        return release_lock(p, t, e->target);
    default:
        return order_event(p, t, &p->objects[e->target], rb_op_info[e->op].releases);
    }
}

static void wcp_counters(const void *state, struct rb_engine_counters *c)
{
    const struct wcp *p = state;

    for (uint32_t i = 0; i < p->world.threads; i++)
        c->starved += p->threads[i].base.count.starved;
}

static void wcp_close(void *state)
{
    (void)state; // the arena is its owner's
}

static struct rb_predict_states wcp_states(const void *state)
{
    const struct wcp *p = state;

    return (struct rb_predict_states){(const char *)p->cells, sizeof(*p->cells)};
}

const struct rb_predictor_ops rb_wcp = {
    .open = wcp_open, .event = wcp_event, .counters = wcp_counters, .close = wcp_close, .states = wcp_states};
