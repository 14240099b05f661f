// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The accesses of each variable, and for each thread that accesses it the ones that can still race with it.
//
// For two threads the ideal grows with both sides: a later access of either has a larger one. An access e1
// found in the ideal of a thread and e1 stays in it and is behind the thread for good. So each thread goes
// once through the accesses of each variable, with a cursor. The cursor stops at the first access that
// races, and the thread's next access continues there.
//
// Most accesses need no ideal. These are behind a thread without one, and stay so:
//   accesses in its clock;
//   accesses in a section that excludes one it is in now: both have begun in any ideal of the two, so the
//   end of the earlier one is in it, and the access as well.
//
// Of several accesses of a thread in one stretch only the last counts: if the first races with e2, so does
// the last. (Take the ideal of the first and e2, and add the events of the stretch up to the last. No
// section begins there and the clock does not change, so the set is still closed, and does not contain the
// last.) The last access replaces the one before, unless a thread has judged that one already.
#include <errno.h>
#include <string.h>

#include "lab/predict/syncp.h"

#define FEW 8u // so many accesses are examined from the start each time, without a view

struct question {
    struct syncp *p;
    const struct syncp_thread *thread;
    uint32_t number; // number of the thread
    struct syncp_view *view;
    uint8_t kind;
};

static bool modes_exclude(uint32_t a, uint32_t b)
{
    return ((a ^ b) & ~SYNCP_SHARED) == 0 && !(a & b & SYNCP_SHARED);
}

static bool holds_against(const struct syncp_thread *t, uint32_t lock)
{
    for (uint32_t i = 0; i < t->held; i++)
        if (modes_exclude(t->holds[i].lock, lock))
            return true;
    return false;
}

static bool in_excluding_sections(const struct question *q, const struct syncp_candidate *c)
{
    const struct syncp_section *section = q->p->threads[c->thread].section;

    if (q->thread->held == 0 || c->lock == SYNCP_NONE)
        return false;
    if (holds_against(q->thread, c->lock))
        return true;
    for (uint32_t i = c->outer; i != SYNCP_NONE; i = section[i].outer)
        if (section[i].released > c->time && holds_against(q->thread, section[i].lock))
            return true;
    return false;
}

// Returns true if the access is behind the thread without an ideal, or is its own.
RB_INLINE bool is_behind(const struct question *q, const struct syncp_candidate *c)
{
    return c->thread == q->number || c->time <= q->thread->clock[c->thread] || in_excluding_sections(q, c);
}

// Returns the kept ideal of the accesses of this thread and the other, or an empty one.
static uint32_t *ideal_with(const struct question *q, uint32_t other)
{
    struct syncp *p = q->p;
    struct syncp_kept *kept = q->view->kept;
    const size_t bytes = sizeof(*kept) + p->clocks.room * sizeof(uint32_t);

    while (kept && (kept->thread != other || kept->kind != q->kind))
        kept = kept->next;
    if (kept)
        return kept->ideal;
    if (p->kept_bytes < p->world.arena->limit / rb_syncp_tuning.ideals)
        kept = rb_arena_zalloc(p->world.arena, bytes);
    if (!kept) {
        rb_clock_zero(&p->clocks, p->scratch);
        return p->scratch;
    }
    p->kept_bytes += bytes;
    kept->next = q->view->kept;
    kept->thread = other;
    kept->kind = q->kind;
    q->view->kept = kept;
    return kept->ideal;
}

static bool in_ideal(const struct question *q, const struct syncp_candidate *c)
{
    uint32_t *ideal = ideal_with(q, c->thread);

    if (ideal[c->thread] >= c->time)
        return true;
    rb_syncp_reach(q->p, ideal, q->number, q->thread->time);
    rb_syncp_reach(q->p, ideal, c->thread, c->time - 1);
    return rb_syncp_complete(q->p, ideal, c->thread, c->time);
}

static struct syncp_view *view_of(struct syncp *p, struct syncp_variable *v, uint32_t thread)
{
    uint32_t i = 0;

    while (i < v->views && v->viewer[i] != thread)
        i++;
    if (i < v->views)
        return &v->view[i];
    if (!SYNCP_ROOM(p, v->view, i, v->views_room) || !SYNCP_ROOM(p, v->viewer, i, v->viewers_room))
        return NULL;
    v->viewer[i] = thread;
    v->view[i] = (struct syncp_view){.raced_in = {SYNCP_NONE, SYNCP_NONE}};
    v->views++;
    return &v->view[i];
}

static bool all_behind(const struct question *q, const struct syncp_list *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (!is_behind(q, &list->item[i]))
            return false;
    return true;
}

// Moves the thread's cursor to the first access that races, or to the end. An access that raced in this
// stretch of the thread still does: the ideal only gains events of the stretch.
static const struct syncp_candidate *find_race(const struct question *q, struct syncp_list *list)
{
    uint32_t *cursor = &q->view->cursor[q->kind], judged = 0;
    const struct syncp_candidate *found = NULL;

    if (q->view->raced_in[q->kind] == q->thread->stretch)
        return &list->item[*cursor];
    while (*cursor < list->count && !found) {
        const struct syncp_candidate *c = &list->item[*cursor];
        if (c->thread != q->number) // its own accesses may still change
            judged = *cursor + 1;
        if (is_behind(q, c) || in_ideal(q, c))
            ++*cursor;
        else
            found = c;
    }
    if (list->judged < judged)
        list->judged = judged;
    q->view->raced_in[q->kind] = found ? q->thread->stretch : SYNCP_NONE;
    return found;
}

int rb_syncp_check(struct syncp *p, uint32_t thread, struct syncp_variable *v, bool write,
                   struct rb_partner *partner)
{
    for (uint8_t kind = 2; kind-- > !write;) { // writes; for a write also reads
        struct syncp_list *list = &v->list[kind];
        struct question q = {.p = p, .thread = &p->threads[thread], .number = thread, .kind = kind};
        if (list->count == 0 || list->only == thread || (list->count <= FEW && all_behind(&q, list)))
            continue;
        q.view = view_of(p, v, thread);
        if (!q.view)
            return -ENOMEM;
        const struct syncp_candidate *c = find_race(&q, list);
        if (c) {
            *partner = (struct rb_partner){rb_epoch_make(c->thread, c->time, kind), c->where};
            return 0;
        }
    }
    return 0;
}

// ---- the lists -----------------------------------------------------------------------------------------

// Removes accesses below the floor, which are behind every thread.
static bool compact_list(struct syncp *p, struct syncp_variable *v, uint8_t kind)
{
    struct syncp_list *l = &v->list[kind];
    const size_t bytes = (l->count + UINT64_C(1)) * sizeof(uint32_t);
    uint32_t *moved = rb_arena_alloc(p->world.arena, bytes); // new index, or that of the next one kept
    uint32_t kept = 0;

    if (!moved)
        return false;
    for (uint32_t i = 0; i < l->count; i++) {
        moved[i] = kept;
        if (l->item[i].time > p->floor[l->item[i].thread])
            l->item[kept++] = l->item[i];
    }
    moved[l->count] = kept;
    l->judged = moved[l->judged];
    for (uint32_t i = 0; i < v->views; i++)
        v->view[i].cursor[kind] = moved[v->view[i].cursor[kind]];
    l->count = kept;
    rb_arena_free(p->world.arena, moved, bytes);
    return true;
}

static bool make_room(struct syncp *p, struct syncp_variable *v, uint8_t kind)
{
    struct syncp_list *l = &v->list[kind];

    if (l->count < l->room)
        return true;
    if (p->collected && l->count > 0 && !compact_list(p, v, kind))
        return false;
    if (l->count <= l->room / 4 * 3 && l->count < l->room)
        return true;
    // Doubles the room even if some is left.
    uint32_t room = l->room;
    struct syncp_candidate *moved = rb_syncp_room(p, l->item, l->room, &room, sizeof(l->item[0]));
    if (!moved)
        return false;
    l->item = moved;
    l->room = room;
    return true;
}

int rb_syncp_record(struct syncp *p, uint32_t thread, struct syncp_variable *v, bool write, uint64_t where)
{
    const struct syncp_thread *t = &p->threads[thread];
    struct syncp_list *l = &v->list[write];
    struct syncp_candidate *c = l->count > 0 ? &l->item[l->count - 1] : NULL;

    if (!c || c->thread != thread || c->stretch != t->stretch || l->count - 1 < l->judged) {
        if (!make_room(p, v, write))
            return -ENOMEM;
        if (l->count == 0)
            l->only = thread;
        else if (l->only != thread)
            l->only = SYNCP_NONE;
        c = &l->item[l->count++];
    }
    *c = (struct syncp_candidate){
        .where = where,
        .thread = thread,
        .time = t->time + 1,
        .stretch = t->stretch,
        .lock = t->held > 0 ? t->holds[t->held - 1].lock : SYNCP_NONE,
        .outer = t->held > 1 ? t->holds[t->held - 2].section : SYNCP_NONE,
    };
    return 0;
}
