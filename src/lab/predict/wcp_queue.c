// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rule (b): of two sections of a lock, the end of the first comes before the end of the second if an event
// of the first comes before an event of the second. That is the case if the acquire of the first comes
// before the release of the second. The same holds where program order leads from within the second to
// another thread, which would otherwise miss the edge. The statements below about releases hold for these
// events too.
//
// The published algorithm has a queue for each lock and thread pair. Here each lock has one, with a place
// in it for each thread. The sections that write-lock it are ordered by happens-before. So if the acquire
// of a later one comes before a release by (a) to (c), those of the earlier ones do too. Each thread
// consumes them from the front. A thread skips its own. Sections that read-lock it are ordered only with
// those of their own thread: they have a queue for each reader, which only write sections visit. Read
// sections do not exclude each other and the rule does not apply between them.
//
// The acquire of a section, made at n_u by u, comes before t's release if n_u <= P_t[u] or C_t[u] (wcp.h):
// no clocks are compared. Entries that every thread has consumed, or will never visit, are removed when the
// ring is full, before it grows. A survey of the trace (predict.h) tells if a thread will take the lock
// again; without it, a thread that never takes the lock keeps all of its entries. In the worst case the
// space is linear for any algorithm in one pass.
#include <errno.h>

#include "lab/predict/wcp.h"

#define FIRST_ROOM 16u

static struct wcp_entry *entry_at(const struct wcp_queue *q, uint64_t number)
{
    return &q->entries[number & (q->room - 1)];
}

// Returns true if rule (b) orders the release of the entry before one of t: by (a) to (c), or because an
// edge of program order left the section before its end.
static bool is_ready(const struct wcp_thread *t, const struct wcp_entry *e)
{
    const uint32_t u = e->release.thread, c = t->c[u];

    return e->begun <= t->p[u] || (e->begun <= c && e->release.time > c);
}

// Consumes entries of one queue; true if P_t changed. The change enables no further entry of this queue: a
// later section begins after the release learnt, and the H of that cannot contain its time.
static bool consume_entries(struct wcp *p, struct wcp_thread *t, struct wcp_queue *q)
{
    const uint32_t slot = t->base.slot;
    const struct rb_handover *last = NULL; // the last one consumed; its H includes the earlier ones

    if (!q->places)
        return false;
    struct wcp_place *place = &q->places[slot];
    uint64_t at = place->next > q->first ? place->next : q->first;
    for (; at < q->end; at++) {
        const struct wcp_entry *e = entry_at(q, at);
        if (e->release.thread == slot)
            continue;
        if (!is_ready(t, e))
            break;
        last = &e->release;
    }
    // Sections left by program order need not be at the front. They matter only if there are new edges.
    for (uint64_t i = q->leak; place->hard != t->hard && i > at; i--) {
        const struct wcp_entry *e = entry_at(q, i - 1);
        if (e->release.thread != slot && is_ready(t, e)) {
            last = &e->release;
            at = i;
        }
    }
    place->hard = t->hard;
    place->next = at;
    return last && wcp_learn_p(p, t, last);
}

bool wcp_queue_consume(struct wcp *p, struct wcp_thread *t, const struct wcp_section *s)
{
    struct wcp_object *o = &p->objects[s->lock];
    bool more = !s->reading && o->reads, learnt = consume_entries(p, t, &o->writes);

    while (more) { // read sections may overlap: the end of one may come after the acquire of another
        more = false;
        for (uint32_t u = 0; u < p->world.threads; u++)
            if (o->reads[u] && u != t->base.slot)
                more |= consume_entries(p, t, o->reads[u]);
        learnt |= more;
    }
    return learnt;
}

// Returns true if the thread will use the lock again, or is in a section of it, which may never end.
static bool comes_again(const struct wcp *p, uint64_t lock, uint32_t thread)
{
    return !p->world.last_use || p->world.last_use(p->world.survey, lock, thread) > p->now ||
           wcp_section_of(&p->threads[thread], lock);
}

// Removes entries that no thread will consume.
static void trim_queue(struct wcp *p, struct wcp_queue *q, uint64_t lock)
{
    uint64_t all = q->end;

    for (uint32_t u = 0; u < p->world.threads && all > q->first; u++)
        if (q->places[u].next < all && comes_again(p, lock, u))
            all = q->places[u].next > q->first ? q->places[u].next : q->first;
    for (; q->first < all; q->first++)
        rb_snapshot_drop(&p->clocks, entry_at(q, q->first)->release.clock);
}

static int grow_queue(struct wcp *p, struct wcp_queue *q)
{
    const struct wcp_queue old = *q;
    const uint32_t room = q->room ? 2 * q->room : FIRST_ROOM;
    struct wcp_entry *bigger = rb_arena_alloc(p->world.arena, room * sizeof(*bigger));

    if (!bigger)
        return -ENOMEM;
    q->entries = bigger;
    q->room = room;
    for (uint64_t i = old.first; i < old.end; i++)
        *entry_at(q, i) = *entry_at(&old, i);
    if (old.room)
        rb_arena_free(p->world.arena, old.entries, old.room * sizeof(*bigger));
    return 0;
}

static struct wcp_queue *reads_of(struct wcp *p, struct wcp_object *o, uint32_t thread)
{
    if (!o->reads)
        o->reads = rb_arena_zalloc(p->world.arena, p->world.threads * sizeof(*o->reads));
    if (o->reads && !o->reads[thread])
        o->reads[thread] = rb_arena_zalloc(p->world.arena, sizeof(struct wcp_queue));
    return o->reads ? o->reads[thread] : NULL;
}

int wcp_queue_add(struct wcp *p, struct wcp_thread *t, struct wcp_object *o, const struct wcp_section *s)
{
    struct wcp_queue *q = s->reading ? reads_of(p, o, t->base.slot) : &o->writes;

    if (!q)
        return -ENOMEM;
    if (!q->places) {
        q->places = rb_arena_zalloc(p->world.arena, p->world.threads * sizeof(*q->places));
        if (!q->places)
            return -ENOMEM;
        if (s->reading) // a reader never visits its own queue
            q->places[t->base.slot].next = UINT64_MAX;
    }
    if (q->end - q->first == q->room) {
        trim_queue(p, q, s->lock);
        if ((q->end - q->first) * 2 > q->room || !q->room)
            if (grow_queue(p, q) < 0)
                return -ENOMEM;
    }
    struct wcp_entry *e = entry_at(q, q->end);
    *e = (struct wcp_entry){.begun = s->begun};
    if (wcp_hand_over(p, t, &e->release) < 0)
        return -ENOMEM;
    q->end++;
    if (t->handed_by >= s->begun)
        q->leak = q->end;
    return 0;
}
