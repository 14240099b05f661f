// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "engine/oracle.h"

#include <stdlib.h>
#include <string.h>

static bool is_access(const struct rb_event *e)
{
    return e->op == RB_READ || e->op == RB_WRITE;
}

static bool releases(enum rb_op op)
{
    return op == RB_RELEASE || op == RB_RD_REL || op == RB_STORE || op == RB_RMW || op == RB_RMW_REL ||
           op == RB_POST || op == RB_ARRIVE;
}

static bool acquires(enum rb_op op)
{
    return op == RB_ACQUIRE || op == RB_RD_ACQ || op == RB_LOAD || op == RB_WAIT || op == RB_RMW ||
           op == RB_LEAVE;
}

static bool on_object(enum rb_op op)
{
    return releases(op) || acquires(op);
}

static bool visible(enum rb_op release, enum rb_op acquire)
{
    return release != RB_RD_REL || acquire == RB_ACQUIRE;
}

static void edge(struct oracle *o, uint32_t i, uint32_t j)
{
    uint64_t *to = o->before + (size_t)j * o->words;
    const uint64_t *from = o->before + (size_t)i * o->words;

    to[i / 64] |= UINT64_C(1) << (i % 64);
    for (uint32_t w = 0; w < o->words; w++)
        to[w] |= from[w];
}

// All edges run forward, so the rows before j are complete when j's is made.
static void edges_to(struct oracle *o, uint32_t j)
{
    const struct rb_event *b = &o->event[j];
    bool replaced = !acquires(b->op); // what lies further back on b's object is out of its sight

    for (uint32_t i = j; i-- > 0;) {
        const struct rb_event *a = &o->event[i];
        if (a->thread == b->thread)
            edge(o, i, j);
        if (a->op == RB_FORK && a->target == b->thread)
            edge(o, i, j);
        if (b->op == RB_JOIN && (b->target == a->thread || (a->op == RB_FORK && a->target == b->target)))
            edge(o, i, j);
        if (replaced || !on_object(a->op) || a->target != b->target)
            continue;
        if (releases(a->op) && visible(a->op, b->op))
            edge(o, i, j);
        replaced = a->op == RB_STORE;
    }
}

void oracle_build(struct oracle *o, const struct rb_event *events, uint32_t count)
{
    *o = (struct oracle){.event = events, .count = count, .words = count / 64 + 1};
    o->before = calloc((size_t)(count + 1) * o->words, sizeof(uint64_t));
    if (!o->before)
        abort();
    for (uint32_t j = 0; j < count; j++)
        edges_to(o, j);
}

void oracle_free(struct oracle *o)
{
    free(o->before);
    o->before = NULL;
}

bool oracle_unordered(const struct oracle *o, uint32_t i, uint32_t j)
{
    const struct rb_event *a = &o->event[i], *b = &o->event[j];

    return i < j && is_access(a) && is_access(b) && a->thread != b->thread && a->target == b->target &&
           (a->op == RB_WRITE || b->op == RB_WRITE) && !oracle_ordered(o, i, j);
}

static bool discarded(const struct oracle *o, const enum rb_take *take, uint32_t i, uint32_t j)
{
    const struct rb_event *a = &o->event[i];

    for (uint32_t c = i + 1; c < j; c++) {
        const struct rb_event *b = &o->event[c];
        if (take[c] == RB_CHECK && is_access(b) && b->target == a->target && oracle_ordered(o, i, c) &&
            (b->op == RB_WRITE || a->op == RB_READ))
            return true;
    }
    return false;
}

bool oracle_races(const struct oracle *o, const enum rb_take *take, uint32_t i, uint32_t j)
{
    return i < o->count && j < o->count && take[i] == RB_TAKE && take[j] != RB_PASS &&
           oracle_unordered(o, i, j) && !discarded(o, take, i, j);
}

uint32_t oracle_racy(const struct oracle *o, const enum rb_take *take, bool *racy)
{
    uint32_t found = 0;

    for (uint32_t j = 0; j < o->count; j++) {
        racy[j] = false;
        for (uint32_t i = 0; i < j && !racy[j]; i++)
            racy[j] = oracle_races(o, take, i, j);
        found += racy[j];
    }
    return found;
}
