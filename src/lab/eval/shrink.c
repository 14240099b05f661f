// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lab/eval/shrink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// Groups of events that go together, as lists one behind the other: the events of group g are
// list[start[g]] to list[start[g + 1] - 1].
struct groups {
    uint32_t *list, *start;
    uint32_t count;
};

struct search {
    const struct rb_shrink *s;
    struct rb_shrink_outcome *outcome;
    bool *kept, *attempt;
    uint32_t *unit; // for each event the first event of its unit
    bool *pinned;   // one flag a unit
    double deadline;
    bool late;
};

static double seconds_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// ---- units ---------------------------------------------------------------------------------------------

// Returns the operation that closes a unit opened by `op`; RB_OPS: none.
static enum rb_op closed_by(enum rb_op op)
{
    return op == RB_ACQUIRE ? RB_RELEASE : op == RB_RD_ACQ ? RB_RD_REL : op == RB_ENTER ? RB_EXIT : RB_OPS;
}

// Joins each closing event with the innermost open one of its thread that it fits. Few are open at any
// time.
static int find_units(struct search *q)
{
    const struct rb_event *events = q->s->events;
    uint32_t *open = malloc((q->s->count + 1) * sizeof(*open)), opened = 0;

    if (!open)
        return -ENOMEM;
    for (uint32_t i = 0; i < q->s->count; i++) {
        const struct rb_event *e = &events[i];
        const bool closes = e->op == RB_RELEASE || e->op == RB_RD_REL || e->op == RB_EXIT;
        q->unit[i] = i;
        if (closed_by(e->op) != RB_OPS)
            open[opened++] = i;
        for (uint32_t k = opened; closes && k-- > 0;) {
            const struct rb_event *begin = &events[open[k]];
            if (begin->thread != e->thread || closed_by(begin->op) != e->op ||
                (e->op != RB_EXIT && begin->target != e->target))
                continue;
            q->unit[i] = open[k];
            memmove(&open[k], &open[k + 1], (--opened - k) * sizeof(*open));
            break;
        }
    }
    free(open);
    for (uint32_t i = 0; i < q->s->pinned_count; i++)
        q->pinned[q->unit[q->s->pinned[i]]] = true;
    return 0;
}

// ---- groups --------------------------------------------------------------------------------------------

// Returns the group of an event, from 0; UINT64_MAX: none. An event joins the group of either half of its
// unit.
typedef uint64_t (*key_fn)(const struct search *q, uint32_t event);

static uint64_t key_quiet(const struct search *q, uint32_t event)
{
    return q->s->events[event].op >= RB_FIRST_QUIET ? 0 : UINT64_MAX;
}

// Groups a thread with the events that create it and wait for it.
static uint64_t key_thread(const struct search *q, uint32_t event)
{
    const struct rb_event *e = &q->s->events[event];

    return rb_op_info[e->op].space == RB_SPACE_THREAD ? e->target : e->thread;
}

static uint64_t key_object(const struct search *q, uint32_t event)
{
    const struct rb_event *e = &q->s->events[event];

    return rb_op_info[e->op].space == RB_SPACE_LOCK ? e->target : UINT64_MAX;
}

static uint64_t key_variable(const struct search *q, uint32_t event)
{
    const struct rb_event *e = &q->s->events[event];

    return e->op <= RB_WRITE ? e->target : UINT64_MAX;
}

static uint64_t key_unit(const struct search *q, uint32_t event)
{
    return q->unit[event];
}

struct keyed {
    uint64_t key;
    uint32_t event;
};

static int by_key(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->event < y->event ? -1 : x->event > y->event;
}

// Makes the groups of the events that are still there. A group with a pinned unit is left out if it can
// only be removed as a whole; key_unit makes one group a unit.
static int make_groups(const struct search *q, key_fn key, struct groups *g)
{
    struct keyed *all = malloc((q->s->count + 1) * sizeof(*all));
    uint32_t n = 0, used = 0;

    *g = (struct groups){.list = malloc((q->s->count + 1) * sizeof(*g->list)),
                         .start = malloc((q->s->count + 2) * sizeof(*g->start))};
    if (!all || !g->list || !g->start) {
        free(all);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < q->s->count; i++) {
        const uint64_t k = q->kept[i] ? key(q, i) : UINT64_MAX;
        if (k != UINT64_MAX)
            all[n++] = (struct keyed){k, i};
    }
    qsort(all, n, sizeof(*all), by_key);
    for (uint32_t i = 0, end; i < n; i = end) {
        bool pinned = false;
        for (end = i; end < n && all[end].key == all[i].key; end++)
            pinned |= q->pinned[q->unit[all[end].event]];
        if (pinned)
            continue;
        g->start[g->count++] = used;
        for (uint32_t k = i; k < end; k++)
            g->list[used++] = all[k].event;
    }
    g->start[g->count] = used;
    free(all);
    return 0;
}

static void free_groups(struct groups *g)
{
    free(g->list);
    free(g->start);
}

// ---- search --------------------------------------------------------------------------------------------

// Tries to remove the groups [from, to). Returns 1 if they are removed, 0 if they are needed.
static int try_without(struct search *q, const struct groups *g, uint32_t from, uint32_t to)
{
    bool any = false;

    if (seconds_now() > q->deadline)
        q->late = true;
    if (q->late)
        return 0;
    memcpy(q->attempt, q->kept, q->s->count * sizeof(*q->kept));
    for (uint32_t i = g->start[from]; i < g->start[to]; i++) {
        any |= q->kept[g->list[i]];
        q->attempt[g->list[i]] = false;
    }
    if (!any)
        return 0;
    q->outcome->tests++;
    const int holds = q->s->holds(q->s->context, q->attempt);
    if (holds == 1) {
        bool *swap = q->kept;
        q->kept = q->attempt;
        q->attempt = swap;
    }
    return holds;
}

// Removes runs of groups, of halving length. Sets *gone if an event was removed.
static int remove_groups(struct search *q, key_fn key, bool *gone)
{
    struct groups g;
    int status = make_groups(q, key, &g);

    for (uint32_t run = g.count; status == 0 && run > 0 && !q->late; run /= 2) {
        for (uint32_t at = 0; status >= 0 && at < g.count && !q->late; at += run) {
            status = try_without(q, &g, at, g.count - at < run ? g.count : at + run);
            *gone |= status == 1;
        }
        status = status < 0 ? status : 0;
    }
    free_groups(&g);
    return status;
}

static int shrink_events(struct search *q)
{
    static const key_fn large[] = {key_quiet, key_thread, key_object, key_variable};
    bool gone = true;
    int status = find_units(q);

    while (status == 0 && gone && !q->late) {
        gone = false;
        for (size_t i = 0; i < RB_LENGTH(large) && status == 0; i++)
            status = remove_groups(q, large[i], &gone);
        if (status == 0)
            status = remove_groups(q, key_unit, &gone);
    }
    return status;
}

int rb_shrink(const struct rb_shrink *s, bool *kept, struct rb_shrink_outcome *outcome)
{
    bool *own = malloc(s->count + 1);
    struct search q = {.s = s,
                       .outcome = outcome,
                       .kept = malloc(s->count + 1),
                       .attempt = own,
                       .unit = calloc(s->count + 1, sizeof(*q.unit)),
                       .pinned = calloc(s->count + 1, sizeof(*q.pinned)),
                       .deadline = seconds_now() + s->seconds};
    int status = -ENOMEM;

    *outcome = (struct rb_shrink_outcome){0};
    memset(kept, true, s->count);
    if (q.kept && own && q.unit && q.pinned) {
        memset(q.kept, true, s->count);
        status = shrink_events(&q);
        memcpy(kept, q.kept, s->count);
        outcome->minimal = status == 0 && !q.late;
    }
    for (uint32_t i = 0; i < s->count; i++)
        outcome->kept += kept[i];
    free(q.kept);
    free(q.attempt);
    free(q.unit);
    free(q.pinned);
    return status;
}
