// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One pass over the synchronisation of a trace. A lock breaks the discipline if a thread takes it while
// another holds it, takes it both ways, or releases it without having taken it that way. Then its sections
// have no meaning, and its events keep their order. More order means fewer reports, never a false one.
#include "lab/replay/replay_state.h"

#include <errno.h>
#include <inttypes.h>

#include "base/rng.h"
#include "lab/replay/read_ahead.h"
#include "trace/lock_check.h"

#define FIRST_CAPACITY 1024u

struct object {
    struct rb_lock_state held; // by a writer
    uint32_t readers;          // number of threads that hold it to read
    bool locked, used;         // it has lock events; it has others
};

struct survey {
    const struct rb_reader *reader;
    struct rb_survey *out;
    struct rb_arena *arena;
    struct rb_survey_wants wants;
    struct object *objects;
    struct rb_lock_table readings; // depth for each lock and reader
    uint64_t *hard;
    uint64_t limit;
    bool out_of_memory;
};

// ---- last uses -----------------------------------------------------------------------------------------

static struct rb_last_use *use_of(const struct rb_survey *s, uint64_t lock, uint32_t thread)
{
    const uint64_t key = (lock << 16 | thread) + 1, mask = s->capacity - 1;
    uint64_t i = rb_mix64(key) & mask;

    while (s->uses[i].key && s->uses[i].key != key)
        i = (i + 1) & mask;
    return &s->uses[i];
}

uint64_t rb_survey_last_use(const void *survey, uint64_t lock, uint32_t thread)
{
    const struct rb_survey *s = survey;
    const struct rb_last_use *u = s->capacity ? use_of(s, lock, thread) : NULL;

    return u && u->key ? u->event : 0;
}

static bool grow_uses(struct rb_survey *s, struct rb_arena *a)
{
    struct rb_survey bigger = *s;

    bigger.capacity = s->capacity ? 2 * s->capacity : FIRST_CAPACITY;
    bigger.uses = rb_arena_zalloc(a, bigger.capacity * sizeof(*bigger.uses));
    if (!bigger.uses)
        return false;
    for (uint64_t i = 0; i < s->capacity; i++)
        if (s->uses[i].key)
            *use_of(&bigger, (s->uses[i].key - 1) >> 16, (s->uses[i].key - 1) & 0xffff) = s->uses[i];
    rb_arena_free(a, s->uses, s->capacity * sizeof(*s->uses));
    *s = bigger;
    return true;
}

static void note_use(struct survey *s, const struct rb_event *e, uint64_t at)
{
    if (2 * s->out->count >= s->out->capacity && !grow_uses(s->out, s->arena)) {
        s->out_of_memory = true;
        return;
    }
    struct rb_last_use *u = use_of(s->out, e->target, e->thread);
    s->out->count += u->key == 0;
    *u = (struct rb_last_use){(e->target << 16 | e->thread) + 1, at};
}

// ---- pass ----------------------------------------------------------------------------------------------

// Applies a lock event. Returns true if it breaks the discipline.
static bool lock_event(struct survey *s, struct object *o, const struct rb_event *e)
{
    enum rb_lock_verdict v;

    switch (e->op) {
    case RB_ACQUIRE:
        v = rb_lock_apply(&o->held, e->op, e->thread);
        return v == RB_LOCK_OVERLAP || o->readers > 0;
    case RB_RELEASE:
        v = rb_lock_apply(&o->held, e->op, e->thread);
        return v != RB_LOCK_OUTER && v != RB_LOCK_INNER;
    case RB_RD_ACQ:
        v = rb_lock_table_apply(&s->readings, e->op, e->thread, e->target);
        o->readers += v == RB_LOCK_OUTER;
        return o->held.owner != 0;
    default:
        v = rb_lock_table_apply(&s->readings, e->op, e->thread, e->target);
        o->readers -= v == RB_LOCK_OUTER;
        return v == RB_LOCK_NOT_HELD || o->held.owner != 0;
    }
}

static void one_event(struct survey *s, const struct rb_event *e, uint64_t at)
{
    struct object *o = &s->objects[e->target];
    bool hard = false;

    if (e->op <= RB_RD_REL) {
        o->locked = true;
        hard = lock_event(s, o, e);
        if (s->wants.last_use)
            note_use(s, e, at);
    } else {
        o->used = true;
    }
    if (hard || (o->locked && o->used))
        s->hard[e->target / 64] |= UINT64_C(1) << (e->target % 64);
}

static void one_page(struct survey *s, const struct rb_page *page, const struct rb_classes *classes)
{
    const bool wide = s->reader->layout.record_bytes == 16;

    for (uint32_t w = 0; w < RB_MASK_WORDS; w++) {
        for (uint64_t work = classes->order.bits[w]; work; work &= work - 1) {
            const uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(work);
            const struct rb_event e = rb_unpack(&s->reader->layout, page->words + (wide ? 2u * i : i), wide);
            // The consumer of an event reports a target outside all tables.
            if (rb_op_info[e.op].text && rb_op_info[e.op].space == RB_SPACE_LOCK && e.target < s->limit)
                one_event(s, &e, page->first + i);
        }
    }
}

static int read_all(struct survey *s, struct rb_error *e)
{
    const struct rb_classes *classes;
    struct rb_ahead ahead;
    struct rb_page page;
    int status = rb_ahead_start(&ahead, s->reader, e);

    while (status == 0 && !s->out_of_memory && (status = rb_ahead_next(&ahead, &page, &classes, e)) == 0)
        one_page(s, &page, classes);
    rb_ahead_stop(&ahead);
    if (status >= 0 && (s->readings.out_of_memory || s->out_of_memory))
        return rb_internal(e, "out of memory for lock states");
    return status < 0 ? status : 0;
}

int rb_survey_make(struct rb_survey *out, const struct rb_reader *r, struct rb_survey_wants wants,
                   struct rb_arena *a, struct rb_error *e)
{
    const uint64_t *of = r->header.events_of;
    struct survey s = {
        .reader = r, .out = out, .arena = a, .wants = wants, .limit = rb_reader_count(r, RBT_LOCKS)};
    uint64_t others = 0;

    *out = (struct rb_survey){.hard = NULL};
    for (int op = RB_LOAD; op <= RB_LEAVE; op++)
        others += of[op];
    const bool mutexes = of[RB_ACQUIRE] || of[RB_RELEASE], readers = of[RB_RD_ACQ] || of[RB_RD_REL];
    if (!readers && !(mutexes && (others || wants.lenient || wants.last_use)))
        return 0;
    const size_t bytes = (s.limit + 1) * sizeof(*s.objects);
    s.objects = rb_arena_zalloc(a, bytes);
    s.hard = rb_arena_zalloc(a, (s.limit / 64 + 1) * sizeof(*s.hard));
    if (!s.objects || !s.hard)
        return rb_internal(e, "out of memory for the states of %" PRIu64 " locks", s.limit);
    const int status = read_all(&s, e);
    rb_lock_table_free(&s.readings);
    rb_arena_free(a, s.objects, bytes);
    for (uint64_t i = 0; i <= s.limit / 64; i++)
        if (s.hard[i])
            out->hard = s.hard;
    return status;
}
