// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "engine/reorderings_locks.h"

#include "base/rng.h"

#define MOST 4u

struct maker {
    struct rb_rng rng;
    uint32_t threads, locks, variables;
    double access, write, reading, stay; // chances
    uint32_t owner[MOST];                // of a lock: thread + 1
    bool reads[MOST][MOST];              // lock, thread
};

static uint32_t below(struct maker *m, uint32_t n)
{
    return (uint32_t)rb_rng_below(&m->rng, n);
}

static bool is_read(const struct maker *m, uint32_t lock)
{
    bool any = false;

    for (uint32_t t = 0; t < m->threads; t++)
        any |= m->reads[lock][t];
    return any;
}

// What the thread does next; false: it would have to wait.
static bool next(struct maker *m, uint32_t t, struct rb_event *e)
{
    const uint32_t l = below(m, m->locks);

    *e = (struct rb_event){.thread = t, .target = l};
    if (rb_rng_chance(&m->rng, m->access)) {
        e->op = rb_rng_chance(&m->rng, m->write) ? RB_WRITE : RB_READ;
        e->target = below(m, m->variables);
    } else if (m->owner[l] == t + 1) {
        e->op = RB_RELEASE;
        m->owner[l] = 0;
    } else if (m->reads[l][t]) {
        e->op = RB_RD_REL;
        m->reads[l][t] = false;
    } else if (m->owner[l] == 0 && rb_rng_chance(&m->rng, m->reading)) {
        e->op = RB_RD_ACQ;
        m->reads[l][t] = true;
    } else if (m->owner[l] == 0 && !is_read(m, l)) {
        e->op = RB_ACQUIRE;
        m->owner[l] = t + 1;
    } else {
        return false;
    }
    return true;
}

uint32_t reorderings_random_locks(struct rb_event *events, uint32_t count, uint64_t seed)
{
    struct maker m = {.threads = 0};
    uint32_t n = 0;

    rb_rng_seed(&m.rng, seed);
    m.threads = 2 + below(&m, 3);
    m.locks = 1 + below(&m, 3);
    m.variables = 1 + below(&m, 4);
    m.access = 0.3 + 0.1 * below(&m, 4);
    m.write = 0.2 + 0.2 * below(&m, 5);
    m.reading = rb_rng_chance(&m.rng, 0.5) ? 0 : 0.5;
    m.stay = 0.3 * below(&m, 4);
    const double forked = 0.5 * below(&m, 3);
    for (uint32_t u = 1; u < m.threads && n < count && rb_rng_chance(&m.rng, forked); u++)
        events[n++] = (struct rb_event){.op = RB_FORK, .target = u};
    for (uint32_t t = 0; n < count;) {
        n += next(&m, t, &events[n]);
        if (!rb_rng_chance(&m.rng, m.stay))
            t = below(&m, m.threads);
    }
    return m.threads;
}
