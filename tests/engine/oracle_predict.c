// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "engine/oracle_predict.h"

#include <stdlib.h>
#include <string.h>

// ---- what events are -----------------------------------------------------------------------------------

static bool is_lock_event(enum rb_op op)
{
    return op == RB_ACQUIRE || op == RB_RELEASE || op == RB_RD_ACQ || op == RB_RD_REL;
}

static bool is_object_event(enum rb_op op)
{
    return rb_op_info[op].text && rb_op_info[op].space == RB_SPACE_LOCK;
}

static bool is_access(const struct rb_event *e)
{
    return e->op == RB_READ || e->op == RB_WRITE;
}

// How often `thread` has taken the object in this way and not released it, just before event `at`. Never
// below 0.
static uint32_t depth(const struct rb_event *e, uint32_t at, uint64_t object, uint32_t thread, bool reading)
{
    const enum rb_op take = reading ? RB_RD_ACQ : RB_ACQUIRE, leave = reading ? RB_RD_REL : RB_RELEASE;
    uint32_t n = 0;

    for (uint32_t i = 0; i < at; i++)
        if (e[i].thread == thread && e[i].target == object &&
            (e[i].op == take || (e[i].op == leave && n > 0)))
            n += e[i].op == take ? 1u : -1u;
    return n;
}

// Does event `at`, of a lock, break the discipline? Asked only where no earlier event of the lock does.
static bool misuse(const struct rb_event *e, uint32_t at)
{
    const uint64_t lock = e[at].target;
    const uint32_t me = e[at].thread;
    const bool reading = e[at].op == RB_RD_ACQ || e[at].op == RB_RD_REL;

    if (e[at].op == RB_RELEASE || e[at].op == RB_RD_REL)
        return depth(e, at, lock, me, reading) == 0;
    for (uint32_t i = 0; i < at; i++) {
        const uint32_t other = e[i].thread;
        if (depth(e, at, lock, other, false) > 0 && (other != me || reading))
            return true;
        if (!reading && depth(e, at, lock, other, true) > 0)
            return true;
    }
    return false;
}

static bool is_hard(const struct rb_event *e, uint32_t count, uint64_t object)
{
    bool locked = false, used = false;

    for (uint32_t i = 0; i < count; i++) {
        if (!is_object_event(e[i].op) || e[i].target != object)
            continue;
        if (is_lock_event(e[i].op) && misuse(e, i))
            return true;
        locked |= is_lock_event(e[i].op);
        used |= !is_lock_event(e[i].op);
    }
    return locked && used;
}

// For each event: is it one of a hard object?
static bool *hard_events(const struct rb_event *e, uint32_t count)
{
    bool *hard = calloc(count + 1, sizeof(*hard));

    if (!hard)
        abort();
    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = 0; // the first of the object
        if (!is_object_event(e[i].op))
            continue;
        while (!is_object_event(e[k].op) || e[k].target != e[i].target)
            k++;
        hard[i] = k < i ? hard[k] : is_hard(e, count, e[i].target);
    }
    return hard;
}

bool oracle_disciplined(const struct rb_event *e, uint32_t count)
{
    bool *hard = hard_events(e, count), any = false;

    for (uint32_t i = 0; i < count; i++)
        any |= hard[i];
    free(hard);
    return !any;
}

// ---- the matrices --------------------------------------------------------------------------------------

static void start(struct oracle *o, const struct rb_event *events, uint32_t count)
{
    *o = (struct oracle){.event = events, .count = count, .words = count / 64 + 1};
    o->before = calloc((size_t)(count + 1) * o->words, sizeof(uint64_t));
    if (!o->before)
        abort();
}

static bool put(struct oracle *o, uint32_t i, uint32_t j)
{
    const bool new = !oracle_ordered(o, i, j);

    o->before[(size_t)j * o->words + i / 64] |= UINT64_C(1) << (i % 64);
    return new;
}

// Row j takes in the row of i, and i.
static void edge(struct oracle *o, uint32_t i, uint32_t j)
{
    put(o, i, j);
    for (uint32_t w = 0; w < o->words; w++)
        o->before[(size_t)j * o->words + w] |= o->before[(size_t)i * o->words + w];
}

static bool fork_or_join(const struct rb_event *a, const struct rb_event *b)
{
    if (a->op == RB_FORK && a->target == b->thread)
        return true;
    return b->op == RB_JOIN && (b->target == a->thread || (a->op == RB_FORK && a->target == b->target));
}

// Edges no other order could turn, between threads.
static bool hard_edge(const struct rb_event *a, const struct rb_event *b, const bool *hard, uint32_t i)
{
    if (a->thread == b->thread)
        return false;
    if (fork_or_join(a, b))
        return true;
    if (!is_object_event(a->op) || !is_object_event(b->op) || a->target != b->target)
        return false;
    if (hard[i])
        return true;
    return !is_lock_event(a->op) && (rb_op_info[a->op].releases || rb_op_info[b->op].releases);
}

static bool lock_edge(const struct rb_event *a, const struct rb_event *b, const bool *hard, uint32_t i)
{
    if (a->target != b->target || !is_lock_event(a->op) || !is_lock_event(b->op) || hard[i])
        return false;
    return (a->op == RB_RELEASE && (b->op == RB_ACQUIRE || b->op == RB_RD_ACQ)) ||
           (a->op == RB_RD_REL && b->op == RB_ACQUIRE);
}

static void edges_to(struct oracle *o, const bool *hard, uint32_t j)
{
    const struct rb_event *e = o->event;

    for (uint32_t i = 0; i < j; i++)
        if (e[i].thread == e[j].thread || hard_edge(&e[i], &e[j], hard, i) ||
            lock_edge(&e[i], &e[j], hard, i))
            edge(o, i, j);
}

// ---- SHB -----------------------------------------------------------------------------------------------

void oracle_build_shb(struct oracle *o, const struct rb_event *events, uint32_t count)
{
    bool *hard = hard_events(events, count);
    struct oracle with; // the edge to each read is in its row

    start(o, events, count);
    start(&with, events, count);
    for (uint32_t j = 0; j < count; j++) {
        edges_to(&with, hard, j);
        memcpy(o->before + (size_t)j * o->words, with.before + (size_t)j * o->words,
               o->words * sizeof(uint64_t));
        for (uint32_t i = j; events[j].op == RB_READ && i-- > 0;)
            if (events[i].op == RB_WRITE && events[i].target == events[j].target) {
                edge(&with, i, j);
                break;
            }
    }
    oracle_free(&with);
    free(hard);
}

// ---- WCP -----------------------------------------------------------------------------------------------

struct section {
    uint32_t from, to; // to: the release, or the number of events if it has none
    bool reading;
};

// All outermost sections of locks that are not hard.
static uint32_t find_sections(const struct rb_event *e, uint32_t count, const bool *hard, struct section *out)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < count; i++) {
        const bool reading = e[i].op == RB_RD_ACQ;
        if ((e[i].op != RB_ACQUIRE && !reading) || hard[i] ||
            depth(e, i, e[i].target, e[i].thread, reading) > 0)
            continue;
        uint32_t end = i + 1;
        while (end < count &&
               !(e[end].thread == e[i].thread && is_lock_event(e[end].op) && e[end].target == e[i].target &&
                 depth(e, end + 1, e[i].target, e[i].thread, reading) == 0))
            end++;
        out[n++] = (struct section){i, end, reading};
    }
    return n;
}

static bool inside(const struct rb_event *e, const struct section *s, uint32_t i)
{
    return i >= s->from && i <= s->to && e[i].thread == e[s->from].thread;
}

static bool conflict(const struct rb_event *a, const struct rb_event *b)
{
    return is_access(a) && is_access(b) && a->target == b->target && a->thread != b->thread &&
           (a->op == RB_WRITE || b->op == RB_WRITE);
}

// Do the rules speak of these two, the first of which has ended?
static bool a_pair(const struct rb_event *e, uint32_t count, const struct section *s, const struct section *t)
{
    return e[s->from].target == e[t->from].target && e[s->from].thread != e[t->from].thread &&
           s->to < t->from && s->to < count && !(s->reading && t->reading);
}

// Does program order lead from i to another thread?
static bool leaves(const struct rb_event *e, uint32_t count, const bool *hard, uint32_t i)
{
    if (e[i].op == RB_FORK || (is_object_event(e[i].op) && (hard[i] || !is_lock_event(e[i].op))))
        return true;
    for (uint32_t k = i + 1; k < count && e[k].thread != e[i].thread; k++)
        if (e[k].op == RB_JOIN && e[k].target == e[i].thread)
            return true;
    return false;
}

static bool rules(struct oracle *w, const struct oracle *po, const bool *hard, const struct section *s,
                  const struct section *t)
{
    const struct rb_event *e = w->event;
    bool new = false, something = false, by_program = false;

    for (uint32_t j = t->from; j <= t->to && j < w->count; j++) {
        if (!inside(e, t, j))
            continue;
        for (uint32_t i = s->from; i <= s->to; i++) {
            if (!inside(e, s, i))
                continue;
            if (conflict(&e[i], &e[j]))
                new |= put(w, s->to, j);
            something |= oracle_ordered(w, i, j);
            by_program |= oracle_ordered(po, i, j);
        }
        if ((j == t->to || leaves(e, w->count, hard, j)) &&
            (something || (by_program && !oracle_ordered(po, s->to, j))))
            new |= put(w, s->to, j);
    }
    return new;
}

// What comes before i in `hb`, with i, comes before j; and i before what j comes before.
static bool compose(struct oracle *w, const struct oracle *hb, uint32_t i, uint32_t j)
{
    bool new = false;

    for (uint32_t k = 0; k < i; k++)
        if (oracle_ordered(hb, k, i))
            new |= put(w, k, j);
    for (uint32_t k = j + 1; k < w->count; k++)
        if (oracle_ordered(hb, j, k))
            new |= put(w, i, k);
    return new;
}

void oracle_build_wcp(struct oracle *o, const struct rb_event *events, uint32_t count)
{
    struct section *sections = calloc(count + 1, sizeof(*sections));
    bool *hard = hard_events(events, count), new = true;
    struct oracle hb, po;

    if (!sections)
        abort();
    const uint32_t n = find_sections(events, count, hard, sections);
    start(o, events, count);
    start(&hb, events, count);
    start(&po, events, count);
    for (uint32_t j = 0; j < count; j++) {
        edges_to(&hb, hard, j);
        for (uint32_t i = 0; i < j; i++)
            if (events[i].thread == events[j].thread || hard_edge(&events[i], &events[j], hard, i))
                edge(&po, i, j);
    }
    while (new) {
        new = false;
        for (uint32_t s = 0; s < n; s++)
            for (uint32_t t = 0; t < n; t++)
                if (a_pair(events, count, &sections[s], &sections[t]))
                    new |= rules(o, &po, hard, &sections[s], &sections[t]);
        for (uint32_t j = 0; j < count; j++)
            for (uint32_t i = 0; i < j; i++)
                if (oracle_ordered(o, i, j))
                    new |= compose(o, &hb, i, j);
    }
    for (uint32_t j = 0; j < count; j++)
        for (uint32_t i = 0; i < j; i++)
            if (oracle_ordered(&po, i, j))
                put(o, i, j);
    oracle_free(&po);
    oracle_free(&hb);
    free(hard);
    free(sections);
}
