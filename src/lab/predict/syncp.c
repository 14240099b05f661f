// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SyncP (Optimal Prediction of Synchronization-Preserving Races, 2021): reports an access iff it races in
// some correct reordering that keeps the order of the critical sections of each lock. Sound and complete
// for these, in time linear in the trace. Definitions: docs/explanation/reordering.md; the argument and the cost:
// docs/explanation/engines.md.
//
// Events become times of their threads, edges become clocks (all but those of locks), and sections are
// recorded. An access is checked before the edge from the write it reads is taken: it is the next event at
// that moment, and has not read yet.
//
// Collection. The ideals of any future event include the clock of its thread. So no future ideal ends a
// thread t before
//   floor[t] = the least time of t that the other threads, except finished ones, have in their clocks.
// Versions before that of the floor are freed, and so are accesses up to it when their list is full. A
// thread that appears later without a fork, or continues after its join, is ordered after the floor. That
// is more order than the trace has, so races of such a thread can be missed but none is invented.
#include <errno.h>
#include <string.h>

#include "lab/predict/syncp.h"
#include "trace/format.h"

struct syncp_tuning rb_syncp_tuning = {.collect_every = 1 << 16, .few_turns = 32, .ideals = 4};

static uint64_t collect_after(const struct syncp *p)
{
    const uint64_t work = (uint64_t)p->world.threads * p->world.threads / 16;

    return work > rb_syncp_tuning.collect_every ? work : rb_syncp_tuning.collect_every;
}

static void *syncp_open(const struct rb_predict_world *w)
{
    struct syncp *p = rb_arena_zalloc(w->arena, sizeof(*p));

    if (!p || w->locks >= SYNCP_SHARED - 1)
        return NULL;
    p->world = *w;
    p->clocks = (struct rb_clocks){w->arena, rb_clock_room(w->threads ? w->threads : 1)};
    p->threads = rb_arena_zalloc(w->arena, (w->threads + UINT64_C(1)) * sizeof(*p->threads));
    p->objects = rb_arena_zalloc(w->arena, (w->locks + 1) * sizeof(*p->objects));
    p->variables = rb_arena_zalloc(w->arena, (w->variables + 1) * sizeof(*p->variables));
    p->floor = rb_clock_new(&p->clocks);
    p->scratch = rb_clock_new(&p->clocks);
    p->unseen = w->threads;
    p->unseen_forked = w->events_of && w->events_of[RB_FORK] + 1 >= w->threads;
    p->until_collect = collect_after(p);
    return p->threads && p->objects && p->variables && p->floor && p->scratch ? p : NULL;
}

// ---- collection ----------------------------------------------------------------------------------------

static bool is_live(const struct syncp_thread *t)
{
    return t->seen && !t->over;
}

static void lower_to(uint32_t *floor, const uint32_t *clock, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        floor[i] = floor[i] < clock[i] ? floor[i] : clock[i];
}

static void collect_past(struct syncp *p)
{
    const uint32_t n = p->world.threads;

    p->until_collect = collect_after(p);
    if (p->unseen > 0 && !p->unseen_forked)
        return;
    for (uint32_t t = 0; t < n; t++)
        p->floor[t] = p->threads[t].time;
    for (uint32_t t = 0; t < n; t++) {
        const uint32_t own = p->floor[t];
        if (!is_live(&p->threads[t]))
            continue;
        lower_to(p->floor, p->threads[t].clock, n);
        p->floor[t] = own;
    }
    for (uint32_t t = 0; t < n; t++)
        if (p->threads[t].seen)
            rb_syncp_forget(p, &p->threads[t], p->floor[t]);
    p->collected = true;
}

// ---- threads -------------------------------------------------------------------------------------------

// Begins a thread, or a finished one again.
static RB_NOINLINE int begin_thread(struct syncp *p, struct syncp_thread *t, bool forked)
{
    t->over = false;
    if (!t->seen) {
        uint32_t *clock = rb_clock_new(&p->clocks);
        if (!clock || !SYNCP_ROOM(p, t->version, 0, t->versions_room))
            return -ENOMEM;
        t->version[t->versions++] = (struct syncp_version){clock, 0};
        t->clock = clock;
        t->seen = true;
        p->unseen--;
    }
    return !forked && p->collected ? rb_syncp_raise(p, t, ++t->time, p->floor) : 0;
}

static int fork_edge(struct syncp *p, uint32_t parent, uint32_t child)
{
    const struct syncp_thread *from = &p->threads[parent];
    struct syncp_thread *to = &p->threads[child];

    if (parent == child)
        return 0;
    if (!is_live(to) && begin_thread(p, to, true) < 0)
        return -ENOMEM;
    return rb_syncp_learn(p, to, ++to->time, from->clock, parent, from->time);
}

static int join_edge(struct syncp *p, uint32_t child, uint32_t parent)
{
    struct syncp_thread *from = &p->threads[child], *to = &p->threads[parent];

    if (parent == child || !from->seen)
        return 0;
    from->over = true;
    return rb_syncp_learn(p, to, to->time, from->clock, child, from->time);
}

// ---- objects -------------------------------------------------------------------------------------------

// R5: orders an event that releases after all earlier events of the object, and any other event after those
// that release. An event that releases has all earlier ones in its clock, so the last of them stands for
// all.
static int object_edges(struct syncp *p, uint32_t thread, struct syncp_object *o, bool releases)
{
    struct syncp_thread *t = &p->threads[thread];
    int status = 0;

    if (o->released)
        status = rb_syncp_learn(p, t, t->time, o->clock, o->releaser, o->released);
    for (uint32_t u = 0; releases && o->any_since && u < p->world.threads && status == 0; u++) {
        const uint32_t time = o->since[u];
        o->since[u] = 0;
        if (u != thread && time > t->clock[u])
            status = rb_syncp_learn(p, t, t->time, rb_syncp_clock(&p->threads[u], time), u, time);
    }
    if (releases) {
        o->clock = t->clock;
        o->releaser = thread;
        o->released = t->time;
        o->any_since = false;
        return status;
    }
    if (!o->since && !(o->since = rb_clock_new(&p->clocks)))
        return -ENOMEM;
    o->since[thread] = t->time;
    o->any_since = true;
    return status;
}

static int object_event(struct syncp *p, const struct rb_event *e)
{
    struct syncp_object **o = &p->objects[e->target];
    const uint32_t lock = (uint32_t)e->target;

    if (!*o && !(*o = rb_arena_zalloc(p->world.arena, sizeof(**o))))
        return -ENOMEM;
    if (RB_UNLIKELY(rb_predict_hard(&p->world, e->target)))
        return object_edges(p, e->thread, *o, true);
    switch (e->op) {
    case RB_ACQUIRE:
    case RB_RD_ACQ:
        return rb_syncp_acquire(p, e->thread, lock, e->op == RB_RD_ACQ);
    case RB_RELEASE:
    case RB_RD_REL:
        rb_syncp_release(p, e->thread, lock, e->op == RB_RD_REL);
        return 0;
    default:
        return object_edges(p, e->thread, *o, rb_op_info[e->op].releases);
    }
}

// ---- accesses ------------------------------------------------------------------------------------------

static int access_event(struct syncp *p, const struct rb_event *e, uint64_t at, bool sampled,
                        struct rb_partner *partner)
{
    struct syncp_thread *t = &p->threads[e->thread];
    struct syncp_variable **slot = &p->variables[e->target];
    const bool write = e->op == RB_WRITE;
    int status = 0;

    if (!*slot && !(*slot = rb_arena_zalloc(p->world.arena, sizeof(**slot))))
        return -ENOMEM;
    struct syncp_variable *v = *slot;
    if (sampled) {
        status = rb_syncp_check(p, e->thread, v, write, partner);
        if (status == 0)
            status = rb_syncp_record(p, e->thread, v, write, rb_event_place(at, e->location));
        if (status < 0)
            return status;
    }
    t->time++;
    if (write) {
        v->clock = t->clock;
        v->writer = e->thread;
        v->written = t->time;
    } else if (v->written) {
        status = rb_syncp_learn(p, t, t->time, v->clock, v->writer, v->written);
    }
    return status;
}

static int syncp_event(void *state, const struct rb_event *e, uint64_t at, bool sampled,
                       struct rb_partner *partner)
{
    struct syncp *p = state;
    struct syncp_thread *t = &p->threads[e->thread];

    partner->epoch = 0;
    if (e->op >= (enum rb_op)RB_FIRST_QUIET)
        return 0;
    if (RB_UNLIKELY(p->until_collect-- == 0))
        collect_past(p);
    if (RB_UNLIKELY(!is_live(t)) && begin_thread(p, t, false) < 0)
        return -ENOMEM;
    if (RB_UNLIKELY(t->time >= INT32_MAX - 2)) // times are compared as signed numbers
        return -ENOMEM;
    if (e->op < (enum rb_op)RB_FIRST_NON_ACCESS)
        return access_event(p, e, at, sampled, partner);
    t->time++;
    if (e->op == RB_FORK)
        return fork_edge(p, e->thread, (uint32_t)e->target);
    if (e->op == RB_JOIN)
        return join_edge(p, (uint32_t)e->target, e->thread);
    return object_event(p, e);
}

static void syncp_counters(const void *state, struct rb_engine_counters *c)
{
    (void)state;
    (void)c; // the counters are about clocks at locks, and SyncP has none
}

static void syncp_close(void *state)
{
    (void)state; // all memory is in the arena
}

const struct rb_predictor_ops rb_syncp = {.open = syncp_open,
                                          .event = syncp_event,
                                          .counters = syncp_counters,
                                          .close = syncp_close};
