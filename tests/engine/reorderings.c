// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "engine/reorderings.h"

#include <stdlib.h>
#include <string.h>

#define NONE        REORDERINGS_NONE
#define MOST_STATES (UINT32_C(1) << 20)
#define BIT(i)      (UINT64_C(1) << (i))

static bool is_lock_event(enum rb_op op)
{
    return op == RB_ACQUIRE || op == RB_RELEASE || op == RB_RD_ACQ || op == RB_RD_REL;
}

static bool is_object_event(enum rb_op op)
{
    return rb_op_info[op].space == RB_SPACE_LOCK;
}

static bool releases(enum rb_op op)
{
    return op == RB_STORE || op == RB_RMW || op == RB_RMW_REL || op == RB_POST || op == RB_ARRIVE;
}

// ---- what the trace says -------------------------------------------------------------------------------

// The place of a value among those seen before it, so that numbers are small.
static uint8_t compact(uint64_t *seen, uint32_t *n, uint64_t value)
{
    uint32_t i = 0;

    while (i < *n && seen[i] != value)
        i++;
    if (i == *n)
        seen[(*n)++] = value;
    return (uint8_t)i;
}

static bool number(struct reorderings *r)
{
    uint64_t threads[REORDERINGS_EVENTS], variables[REORDERINGS_EVENTS];

    for (uint32_t i = 0; i < r->count; i++) {
        const struct rb_event *e = &r->event[i];
        r->about[i] =
            (struct reorderings_event){.variable = NONE, .reads_from = NONE, .lock = NONE, .closed_by = NONE};
        r->about[i].thread = compact(threads, &r->threads, e->thread);
        if (e->op == RB_READ || e->op == RB_WRITE)
            r->about[i].variable = compact(variables, &r->variables, e->target);
    }
    return r->threads <= REORDERINGS_THREADS;
}

// The event before i on its thread, thread order being made of these; and fork and join.
static void thread_needs(struct reorderings *r, uint32_t i)
{
    const struct rb_event *b = &r->event[i];

    for (uint32_t k = 0; k < i; k++) {
        const struct rb_event *a = &r->event[k];
        const bool forks_b = a->op == RB_FORK && a->target == b->thread;
        const bool joined =
            b->op == RB_JOIN && (a->thread == b->target || (a->op == RB_FORK && a->target == b->target));
        if (a->thread == b->thread || forks_b || joined)
            r->about[i].needs |= BIT(k);
    }
}

static void last_write(struct reorderings *r, uint32_t i)
{
    for (uint32_t k = 0; k < i && r->event[i].op == RB_READ; k++)
        if (r->event[k].op == RB_WRITE && r->event[k].target == r->event[i].target)
            r->about[i].reads_from = (uint8_t)k;
}

// Goes through the lock events of one object and writes down its sections. False if they do not fit together.
static bool find_sections(struct reorderings *r, uint64_t object, uint8_t lock)
{
    uint32_t writing[REORDERINGS_THREADS] = {0}, reading[REORDERINGS_THREADS] = {0}; // depths
    uint32_t opened[REORDERINGS_THREADS];

    for (uint32_t i = 0; i < r->count; i++) {
        const struct rb_event *e = &r->event[i];
        if (!is_object_event(e->op) || e->target != object)
            continue;
        if (!is_lock_event(e->op))
            return false;
        const uint8_t t = r->about[i].thread;
        const bool read = e->op == RB_RD_ACQ || e->op == RB_RD_REL;
        uint32_t *mine = read ? reading : writing;
        if (e->op == RB_ACQUIRE || e->op == RB_RD_ACQ) {
            for (uint32_t u = 0; u < r->threads; u++)
                if ((writing[u] > 0 && (u != t || read)) || (reading[u] > 0 && !read))
                    return false;
            if (mine[t]++ == 0) {
                opened[t] = i;
                r->about[i].lock = lock;
                r->about[i].read_section = read;
            }
        } else {
            if (mine[t] == 0)
                return false;
            if (--mine[t] == 0)
                r->about[opened[t]].closed_by = (uint8_t)i;
        }
    }
    return true;
}

// R5: the events of an object that keep their order, all of them or those with a release.
static void keep_order(struct reorderings *r, uint64_t object, bool all)
{
    for (uint32_t i = 0; i < r->count; i++)
        for (uint32_t k = 0; k < i; k++) {
            const struct rb_event *a = &r->event[k], *b = &r->event[i];
            if (is_object_event(a->op) && is_object_event(b->op) && a->target == object &&
                b->target == object && (all || releases(a->op) || releases(b->op)))
                r->about[i].needs |= BIT(k);
        }
}

static void look_at_object(struct reorderings *r, uint64_t object, uint8_t lock)
{
    bool locks = false, others = false;

    for (uint32_t i = 0; i < r->count; i++)
        if (is_object_event(r->event[i].op) && r->event[i].target == object) {
            locks |= is_lock_event(r->event[i].op);
            others |= !is_lock_event(r->event[i].op);
        }
    if (!locks) {
        keep_order(r, object, false);
        return;
    }
    if (!others && find_sections(r, object, lock))
        return;
    for (uint32_t i = 0; i < r->count; i++)
        if (r->about[i].lock == lock) // of the part before the odd event
            r->about[i].lock = r->about[i].closed_by = NONE;
    keep_order(r, object, true);
}

static bool prepare(struct reorderings *r)
{
    uint64_t objects[REORDERINGS_EVENTS];

    if (!number(r))
        return false;
    for (uint32_t i = 0; i < r->count; i++) {
        thread_needs(r, i);
        last_write(r, i);
        if (is_object_event(r->event[i].op))
            compact(objects, &r->locks, r->event[i].target);
    }
    for (uint32_t l = 0; l < r->locks; l++)
        look_at_object(r, objects[l], (uint8_t)l);
    return true;
}

// ---- states --------------------------------------------------------------------------------------------

struct state {
    uint64_t done;                      // the events that have run
    uint8_t writer[REORDERINGS_EVENTS]; // of each variable, the write that it saw last
};

// Every state once, in the order found; `slot` leads from a hash to a number + 1.
struct states {
    struct state *state;
    uint32_t *slot;
    uint32_t count, room;
};

static uint64_t hash(const struct state *s, uint32_t variables)
{
    uint64_t h = s->done * 0x9e3779b97f4a7c15u;

    for (uint32_t v = 0; v < variables; v++)
        h = (h ^ s->writer[v]) * 0x100000001b3u;
    return h ^ h >> 29;
}

static void insert(struct states *all, uint32_t n, uint64_t h)
{
    while (all->slot[h & (2 * all->room - 1)])
        h++;
    all->slot[h & (2 * all->room - 1)] = n + 1;
}

static void grow(struct states *all, uint32_t variables)
{
    all->room = all->room ? 2 * all->room : 256;
    all->state = realloc(all->state, all->room * sizeof(all->state[0]));
    free(all->slot);
    all->slot = calloc(2 * (size_t)all->room, sizeof(all->slot[0]));
    if (!all->state || !all->slot)
        abort();
    for (uint32_t n = 0; n < all->count; n++)
        insert(all, n, hash(&all->state[n], variables));
}

static void add(struct states *all, const struct state *s, uint32_t variables)
{
    const uint64_t h = hash(s, variables);

    if (all->count == all->room)
        grow(all, variables);
    for (uint64_t at = h; all->slot[at & (2 * all->room - 1)]; at++) {
        const struct state *old = &all->state[all->slot[at & (2 * all->room - 1)] - 1];
        if (old->done == s->done && memcmp(old->writer, s->writer, variables) == 0)
            return;
    }
    all->state[all->count] = *s;
    insert(all, all->count++, h);
}

static uint32_t next_of(const struct reorderings *r, uint64_t done, uint32_t thread)
{
    uint32_t i = 0;

    while (i < r->count && (r->about[i].thread != thread || done & BIT(i)))
        i++;
    return i; // r->count: none
}

static bool open_at(const struct reorderings *r, uint64_t done, uint32_t section)
{
    const uint8_t end = r->about[section].closed_by;

    return done & BIT(section) && (end == NONE || !(done & BIT(end)));
}

// Sections of one lock and two threads, not both to read.
static bool exclude(const struct reorderings_event *a, const struct reorderings_event *b)
{
    return a->lock != NONE && a->lock == b->lock && a->thread != b->thread &&
           !(a->read_section && b->read_section);
}

static bool may_run(const struct reorderings *r, const struct state *s, uint32_t i, bool preserve)
{
    const struct reorderings_event *e = &r->about[i];

    if (e->needs & ~s->done)
        return false;
    if (r->event[i].op == RB_READ && s->writer[e->variable] != e->reads_from)
        return false;
    for (uint32_t k = 0; k < r->count && e->lock != NONE; k++)
        if (exclude(e, &r->about[k]) && (open_at(r, s->done, k) || (preserve && k > i && s->done & BIT(k))))
            return false;
    return true;
}

// Thread t is about to take a lock that others have: which?
static uint32_t waits_for(const struct reorderings *r, const struct state *s, uint32_t t)
{
    const uint32_t i = next_of(r, s->done, t);
    uint32_t threads = 0;

    if (i == r->count || r->about[i].needs & ~s->done)
        return 0;
    for (uint32_t k = 0; k < r->count; k++)
        if (exclude(&r->about[i], &r->about[k]) && open_at(r, s->done, k))
            threads |= 1u << r->about[k].thread;
    return threads;
}

static bool in_a_circle(const struct reorderings *r, const struct state *s)
{
    uint32_t to[REORDERINGS_THREADS];

    for (uint32_t t = 0; t < r->threads; t++)
        to[t] = waits_for(r, s, t);
    for (uint32_t k = 0; k < r->threads; k++)
        for (uint32_t t = 0; t < r->threads; t++)
            if (to[t] >> k & 1)
                to[t] |= to[k];
    for (uint32_t t = 0; t < r->threads; t++)
        if (to[t] >> t & 1)
            return true;
    return false;
}

static void look_at_state(struct reorderings *r, const struct state *s, bool preserve)
{
    uint64_t next = 0;

    for (uint32_t t = 0; t < r->threads; t++) {
        const uint32_t i = next_of(r, s->done, t);
        if (i < r->count && !(r->about[i].needs & ~s->done))
            next |= BIT(i);
    }
    for (uint32_t i = 0; i < r->count; i++)
        if (next & BIT(i))
            r->together[preserve][i] |= next;
    if (!preserve && !r->deadlocked)
        r->deadlocked = in_a_circle(r, s);
}

static bool explore(struct reorderings *r, bool preserve)
{
    struct states all = {0};
    struct state begin = {.done = 0};

    memset(begin.writer, NONE, sizeof(begin.writer));
    add(&all, &begin, r->variables);
    for (uint32_t n = 0; n < all.count && all.count <= MOST_STATES; n++) {
        const struct state s = all.state[n];
        look_at_state(r, &s, preserve);
        for (uint32_t t = 0; t < r->threads; t++) {
            const uint32_t i = next_of(r, s.done, t);
            if (i == r->count || !may_run(r, &s, i, preserve))
                continue;
            struct state after = s;
            after.done |= BIT(i);
            if (r->event[i].op == RB_WRITE)
                after.writer[r->about[i].variable] = (uint8_t)i;
            add(&all, &after, r->variables);
        }
    }
    r->explored[preserve] = true;
    r->states += all.count;
    free(all.state);
    free(all.slot);
    return all.count <= MOST_STATES;
}

// ---- questions -----------------------------------------------------------------------------------------

bool reorderings_open(struct reorderings *r, const struct rb_event *events, uint32_t count)
{
    *r = (struct reorderings){.event = events, .count = count};
    return count <= REORDERINGS_EVENTS && prepare(r) && explore(r, false);
}

static bool conflict(const struct reorderings *r, uint32_t i, uint32_t j)
{
    const struct reorderings_event *a = &r->about[i], *b = &r->about[j];

    return a->variable != NONE && a->variable == b->variable && a->thread != b->thread &&
           (r->event[i].op == RB_WRITE || r->event[j].op == RB_WRITE);
}

bool reorderings_predictable(const struct reorderings *r, uint32_t i, uint32_t j)
{
    return conflict(r, i, j) && r->together[0][i] & BIT(j);
}

bool reorderings_sync_preserving(struct reorderings *r, uint32_t i, uint32_t j)
{
    if (!r->explored[1]) // fewer states than the others, so not too many
        explore(r, true);
    return conflict(r, i, j) && r->together[1][i] & BIT(j);
}

bool reorderings_deadlock(const struct reorderings *r)
{
    return r->deadlocked;
}

// Without states: each rule on its own, by places in the sequence.
bool reorderings_correct(const struct reorderings *r, const uint32_t *order, uint32_t n)
{
    uint64_t before = 0;

    for (uint32_t at = 0; at < n; at++) {
        const uint32_t i = order[at];
        if (i >= r->count || before & BIT(i) || r->about[i].needs & ~before) // R1, R4, R5
            return false;
        before |= BIT(i);
        uint32_t seen = NONE;
        for (uint32_t k = 0; k < at; k++)
            if (r->event[order[k]].op == RB_WRITE && r->about[order[k]].variable == r->about[i].variable)
                seen = order[k];
        if (r->event[i].op == RB_READ && seen != r->about[i].reads_from) // R2
            return false;
        bool open = r->about[i].lock != NONE;
        for (uint32_t k = at + 1; k < n && open; k++) { // R3
            if (order[k] < r->count && exclude(&r->about[i], &r->about[order[k]]))
                return false;
            open = order[k] != r->about[i].closed_by;
        }
    }
    return true;
}
