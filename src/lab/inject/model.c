// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lab/inject/model.h"

#include <inttypes.h>
#include <stdlib.h>

// Use of an object in the base.
struct use {
    uint32_t writer_plus_1, depth; // the thread that holds it to write
    uint32_t readers;              // number of threads that hold it to read
    uint32_t outer;                // the acquire that is open
    bool locks, others, ordered;
};

// The read-locks of a thread: few at a time.
struct read_hold {
    uint64_t lock;
    uint32_t depth, outer;
};

struct read_holds {
    struct read_hold *at;
    uint32_t count, capacity;
};

struct maker {
    struct rb_model *m;
    struct use *uses;
    struct read_holds *holds; // one a thread
    bool no_memory;
};

static struct read_hold *find_hold(struct maker *k, uint32_t thread, uint64_t lock, bool make)
{
    struct read_holds *h = &k->holds[thread];

    for (uint32_t i = 0; i < h->count; i++)
        if (h->at[i].lock == lock)
            return &h->at[i];
    if (!make)
        return NULL;
    if (h->count == h->capacity) {
        const uint32_t capacity = h->capacity ? 2 * h->capacity : 4;
        struct read_hold *at = realloc(h->at, capacity * sizeof(*at));
        if (!at) {
            k->no_memory = true;
            return NULL;
        }
        h->at = at;
        h->capacity = capacity;
    }
    h->at[h->count] = (struct read_hold){.lock = lock, .outer = RB_NO_EVENT};
    return &h->at[h->count++];
}

static void pair_up(struct rb_model *m, uint32_t take, uint32_t give, bool to_read)
{
    m->class[take] = to_read ? RB_CLASS_RTAKE : RB_CLASS_TAKE;
    if (give == RB_NO_EVENT)
        return;
    m->class[give] = to_read ? RB_CLASS_RGIVE : RB_CLASS_GIVE;
    m->tie[take] = give;
    m->tie[give] = take;
}

static void take_to_write(struct maker *k, uint32_t i, const struct rb_event *e, struct use *u)
{
    if (u->writer_plus_1 == e->thread + 1) {
        u->depth++;
        return;
    }
    u->ordered |= u->writer_plus_1 != 0 || u->readers != 0;
    u->writer_plus_1 = e->thread + 1;
    u->depth = 1;
    u->outer = i;
    pair_up(k->m, i, RB_NO_EVENT, false);
}

static void give_to_write(struct maker *k, uint32_t i, const struct rb_event *e, struct use *u)
{
    if (u->writer_plus_1 != e->thread + 1) {
        u->ordered = true;
        return;
    }
    if (--u->depth == 0) {
        u->writer_plus_1 = 0;
        pair_up(k->m, u->outer, i, false);
    }
}

static void take_to_read(struct maker *k, uint32_t i, const struct rb_event *e, struct use *u)
{
    struct read_hold *h = find_hold(k, e->thread, e->target, true);

    u->ordered |= u->writer_plus_1 != 0;
    if (!h || h->depth++ > 0)
        return;
    h->outer = i;
    u->readers++;
    pair_up(k->m, i, RB_NO_EVENT, true);
}

static void give_to_read(struct maker *k, uint32_t i, const struct rb_event *e, struct use *u)
{
    struct read_hold *h = find_hold(k, e->thread, e->target, false);
    struct read_holds *all = &k->holds[e->thread];

    if (!h) {
        u->ordered = true;
        return;
    }
    if (--h->depth > 0)
        return;
    u->readers--;
    pair_up(k->m, h->outer, i, true);
    *h = all->at[--all->count];
}

static void object_event(struct maker *k, uint32_t i, const struct rb_event *e)
{
    struct use *u = &k->uses[e->target];

    switch (e->op) {
    case RB_ACQUIRE:
        u->locks = true;
        take_to_write(k, i, e, u);
        break;
    case RB_RELEASE:
        u->locks = true;
        give_to_write(k, i, e, u);
        break;
    case RB_RD_ACQ:
        u->locks = true;
        take_to_read(k, i, e, u);
        break;
    case RB_RD_REL:
        u->locks = true;
        give_to_read(k, i, e, u);
        break;
    default:
        u->others = true;
        k->m->class[i] = rb_op_info[e->op].releases ? RB_CLASS_SIGNAL : RB_CLASS_LOOK;
    }
}

// Classifies the events: objects and threads in one pass, then the objects that the whole base proves
// ordered.
static void classify_events(struct maker *k, uint32_t *last_write)
{
    struct rb_model *m = k->m;

    for (uint32_t i = 0; i < m->count; i++) {
        const struct rb_event *e = &m->base[i];
        if (e->op == RB_READ) {
            m->class[i] = RB_CLASS_READ;
            m->tie[i] = last_write[e->target];
            if (m->tie[i] != RB_NO_EVENT)
                m->readers[m->tie[i]]++;
        } else if (e->op == RB_WRITE) {
            m->class[i] = RB_CLASS_WRITE;
            last_write[e->target] = i;
        } else if (e->op == RB_FORK || e->op == RB_JOIN) {
            m->class[i] = RB_CLASS_THREAD;
        } else if (rb_op_info[e->op].space == RB_SPACE_LOCK) {
            object_event(k, i, e);
        }
    }
    for (uint32_t i = 0; i < m->count; i++) {
        const struct rb_event *e = &m->base[i];
        if (rb_op_info[e->op].space != RB_SPACE_LOCK)
            continue;
        const struct use *u = &k->uses[e->target];
        if (u->ordered || (u->locks && u->others)) {
            m->class[i] = RB_CLASS_SIGNAL;
            m->tie[i] = RB_NO_EVENT;
        }
        m->sections += rb_class_takes(m->class[i]);
    }
}

static void list_threads(struct rb_model *m)
{
    for (uint32_t i = 0; i < m->count; i++)
        m->thread_index[i] = m->thread_start[m->base[i].thread + 1]++;
    for (uint64_t t = 0; t < m->threads; t++)
        m->thread_start[t + 1] += m->thread_start[t];
    for (uint32_t i = 0; i < m->count; i++)
        m->thread_list[m->thread_start[m->base[i].thread] + m->thread_index[i]] = i;
    for (uint32_t i = 0; i + 1 < m->count; i++)
        if (m->base[i].thread != m->base[i + 1].thread)
            m->points[m->point_count++] = i;
}

// Counts the locks that events name, because the header may claim any number.
static uint64_t count_locks(const struct rb_events *base)
{
    uint64_t most = 0;

    for (uint64_t i = 0; i < base->count; i++)
        if (rb_op_info[base->at[i].op].space == RB_SPACE_LOCK && base->at[i].target >= most)
            most = base->at[i].target + 1;
    return most;
}

int rb_model_make(struct rb_model *m, const struct rb_events *base, struct rb_error *e)
{
    struct maker k = {.m = m};
    const size_t n = base->count + 2;
    uint32_t *last_write = malloc((base->table[RBT_VARIABLES] + 1) * sizeof(*last_write));

    *m = (struct rb_model){.base = base->at,
                           .count = (uint32_t)base->count,
                           .threads = base->table[RBT_THREADS],
                           .locks = count_locks(base),
                           .variables = base->table[RBT_VARIABLES]};
    m->class = calloc(n, sizeof(*m->class));
    m->tie = malloc(n * sizeof(*m->tie));
    m->readers = calloc(n, sizeof(*m->readers));
    m->thread_list = malloc(n * sizeof(*m->thread_list));
    m->thread_start = calloc(m->threads + 2, sizeof(*m->thread_start));
    m->thread_index = malloc(n * sizeof(*m->thread_index));
    m->points = malloc(n * sizeof(*m->points));
    k.uses = calloc(m->locks + 1, sizeof(*k.uses));
    k.holds = calloc(m->threads + 1, sizeof(*k.holds));
    k.no_memory = !m->class || !m->tie || !m->readers || !m->thread_list || !m->thread_start ||
                  !m->thread_index || !m->points || !k.uses || !k.holds || !last_write;
    if (!k.no_memory) {
        memset(m->tie, 0xff, n * sizeof(*m->tie));
        memset(last_write, 0xff, (base->table[RBT_VARIABLES] + 1) * sizeof(*last_write));
        classify_events(&k, last_write);
        list_threads(m);
    }
    for (uint64_t t = 0; k.holds && t < m->threads; t++)
        free(k.holds[t].at);
    free(k.holds);
    free(k.uses);
    free(last_write);
    if (!k.no_memory)
        return 0;
    rb_model_free(m);
    return rb_internal(e, "out of memory for a base of %" PRIu64 " events", base->count);
}

void rb_model_free(struct rb_model *m)
{
    free(m->class);
    free(m->tie);
    free(m->readers);
    free(m->thread_list);
    free(m->thread_start);
    free(m->thread_index);
    free(m->points);
    *m = (struct rb_model){0};
}

// ---- orders --------------------------------------------------------------------------------------------

bool rb_order_alloc(struct rb_order *o, const struct rb_model *m)
{
    *o = (struct rb_order){.model = m, .count = m->count + 2};
    o->event = malloc(o->count * sizeof(*o->event));
    o->place = malloc(o->count * sizeof(*o->place));
    return o->event && o->place;
}

void rb_order_free(struct rb_order *o)
{
    free(o->event);
    free(o->place);
    o->event = o->place = NULL;
}

void rb_order_copy(struct rb_order *to, const struct rb_order *from)
{
    memcpy(to->event, from->event, from->count * sizeof(*to->event));
    memcpy(to->place, from->place, from->count * sizeof(*to->place));
    memcpy(to->thread, from->thread, sizeof(to->thread));
    memcpy(to->slot, from->slot, sizeof(to->slot));
}

void rb_order_start(struct rb_order *o, const struct rb_model *m, uint32_t point)
{
    for (uint32_t i = 0; i < o->count; i++) {
        o->event[i] = i <= point ? i : i == point + 1 ? m->count : i == point + 2 ? m->count + 1 : i - 2;
        o->place[o->event[i]] = i;
    }
    for (uint32_t k = 0; k < 2; k++) {
        o->thread[k] = m->base[point + k].thread;
        o->slot[k] = m->thread_index[point + k] + (k == 0);
    }
}

uint32_t rb_order_reversed(const struct rb_order *o)
{
    const struct rb_model *m = o->model;
    // For each lock, over the sections so far: the largest number + 1 that the base has for one; to write,
    // to read.
    uint32_t *most = calloc(2 * (m->locks + 1), sizeof(*most));
    uint32_t reversed = 0;

    for (uint32_t i = 0; i < o->count && most; i++) {
        const uint32_t e = o->event[i];
        if (!rb_class_takes(m->class[e]))
            continue;
        uint32_t *lock = most + 2 * m->base[e].target;
        const bool reads = m->class[e] == RB_CLASS_RTAKE;
        reversed += lock[0] > e || (!reads && lock[1] > e);
        if (e + 1 > lock[reads])
            lock[reads] = e + 1;
    }
    free(most);
    return reversed;
}
