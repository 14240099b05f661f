// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The access history of the running program against a slow judge that keeps a cell of the engine's for each
// byte, plain and atomic apart. Threads are states that take turns on this thread. The accesses that are the
// second of some race must be the same; whatever is named as the first must be an access that was made, to
// that byte, and is not ordered before. Where the table is too small, only the latter.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "engine/oracle_check.h"
#include "run/access/history.h"
#include "run/core/upcalls.h"
#include "run/intercept/lifecycle.h"
#include "run/record/record.h"

// ---- the rest of the runtime, as far as the history looks at it ----------------------------------------

struct rb_process rb_process;
RB_TLS struct rb_self *rb_self_tls;
bool rb_recording;

void rb_record_own(struct rb_self *me, enum rb_raw_op kind, uint64_t a, size_t b)
{
    (void)me;
    (void)kind;
    (void)a;
    (void)b;
}

void rb_unseen_settle(struct rb_self *me)
{
    (void)me;
}

// ---- threads, and memory as the judge sees it ----------------------------------------------------------

#define THREADS 5u
#define SYNCS   4u
#define BYTES   320u // ten lines
#define KEPT    64u  // accesses to a byte since it was forgotten, of those that may be named

struct made {
    rb_epoch epoch;
    uint64_t where;
    bool atomic;
};

struct byte {
    struct rb_cell cell[2]; // plain, atomic
    struct made made[KEPT];
    unsigned count;
};

static struct {
    struct rb_arena arena;
    struct rb_engine engine;
    struct rb_self thread[THREADS];
    struct rb_recent recent[THREADS][RB_RECENT];
    struct rb_sync sync[SYNCS], turns;
    struct byte byte[BYTES];
    struct rb_rng rng;
    uintptr_t start;
    bool small; // the table drops entries
    uint64_t checked, raced, recalled, known;
} w;

static uint32_t below(uint32_t n)
{
    return (uint32_t)rb_rng_below(&w.rng, n);
}

static void open_world(const struct rb_engine_ops *ops, uint64_t seed)
{
    memset(&w.thread, 0, sizeof(w.thread));
    memset(&w.recent, 0, sizeof(w.recent));
    memset(&w.sync, 0, sizeof(w.sync));
    memset(&w.turns, 0, sizeof(w.turns));
    memset(&w.byte, 0, sizeof(w.byte));
    rb_rng_seed(&w.rng, seed);
    rb_arena_init(&w.arena, SIZE_MAX);
    w.engine = (struct rb_engine){.ops = ops, .arena = &w.arena, .width = THREADS};
    rb_process.ops = ops;
    rb_process.on = true;
    rb_process.generation += 2;
    w.start = (uintptr_t)(below(2) ? 0x7f1200000000u : 0) + 4096 * below(1u << 20) + 32 * below(4);
    for (uint32_t i = 0; i < THREADS; i++) {
        struct rb_self *me = &w.thread[i];
        me->hb.slot = i;
        me->engine = w.engine;
        me->id = i;
        me->recent = below(2) ? w.recent[i] : NULL;
        assert_int_equal(ops->thread_start(&me->engine, &me->hb), 0);
    }
}

static void close_world(void)
{
    rb_arena_destroy(&w.arena);
}

// ---- what happens --------------------------------------------------------------------------------------

static void synchronise(struct rb_self *me)
{
    struct rb_sync *s = &w.sync[below(SYNCS)];
    const struct rb_engine_ops *ops = rb_process.ops;

    if (below(2))
        ops->acquire(&me->engine, &me->hb, s);
    else if (below(2))
        ops->release_store(&me->engine, &me->hb, s);
    else
        ops->release_join(&me->engine, &me->hb, s);
}

// Does the access race at this byte? Of the cells of its own kind and of the other.
static bool judge(struct rb_self *me, struct rb_cell cell[2], const struct rb_memory_access *t,
                  uint64_t where)
{
    const struct rb_access access = {where, t->write};
    struct rb_partner p = {0, 0};
    bool races = false;

    rb_history_access(&me->engine, &me->hb, &cell[t->atomic], access, t->record, &p);
    races |= !t->atomic && p.epoch;
    p.epoch = 0;
    rb_history_peek(&me->engine, &me->hb, &cell[!t->atomic], access, &p);
    return races || p.epoch;
}

static void make(struct rb_self *me, struct byte *b, const struct rb_memory_access *t, uint64_t where)
{
    if (b->count == KEPT) {
        memmove(b->made, b->made + 1, sizeof(b->made) - sizeof(b->made[0]));
        b->count--;
    }
    b->made[b->count++] = (struct made){rb_own_epoch(&me->hb, t->write), where, t->atomic};
}

// Is what is named true? An access that is too long ago is not judged.
static void believe_hit(const struct rb_self *me, const struct rb_memory_access *t, const struct rb_hit *hit)
{
    const uintptr_t at = hit->address - w.start;
    bool seen = false;

    assert_true(hit->address >= t->address && hit->address < t->address + t->size);
    assert_false(rb_ordered(&me->hb, hit->epoch));
    assert_true(t->write || rb_epoch_is_write(hit->epoch));
    assert_false(t->atomic && hit->atomic);
    for (unsigned i = 0; i < w.byte[at].count; i++) {
        const struct made *m = &w.byte[at].made[i];
        seen |= m->epoch == hit->epoch && m->where == hit->where && m->atomic == hit->atomic;
    }
    assert_true(seen || w.byte[at].count == KEPT);
}

static struct rb_memory_access draw_touch(bool pacer)
{
    static const uint32_t sizes[] = {1, 1, 1, 2, 4, 8, 8, 16, 32, 90};
    const uint32_t size = w.small ? 1 : sizes[below(RB_LENGTH(sizes))];
    uint32_t at = below(BYTES - size + 1);

    if (!w.small && below(3)) // most are where others are
        at %= 64;
    if (size <= 8 && below(4))
        at -= at % size;
    return (struct rb_memory_access){.address = w.start + at,
                                     .size = size,
                                     .write = below(3) == 0,
                                     .atomic = size <= 8 && below(5) == 0,
                                     .record = !pacer || below(3)};
}

static void access_memory(struct rb_self *me, bool pacer)
{
    const struct rb_memory_access t = draw_touch(pacer);
    const uint64_t where = rb_where(1 + below(w.small ? 5000 : 12), me->id, t.size);
    struct rb_hit hit = {.epoch = 0};
    bool races = false;

    const bool recalled = t.record && me->recent && rb_accesses_recalls(me, &t);
    const bool known = recalled || (t.record && rb_is_in_line(&t) && rb_accesses_knows(me, &t));
    if (!known)
        rb_accesses_touch(me, &t, where, &hit);
    for (uintptr_t at = t.address - w.start; at < t.address - w.start + t.size; at++) {
        races |= judge(me, w.byte[at].cell, &t, where);
        if (t.record)
            make(me, &w.byte[at], &t, where);
    }
    if (hit.epoch)
        believe_hit(me, &t, &hit);
    if (!w.small && races != (hit.epoch != 0)) {
        fprintf(stderr, "%s, access %lu: thread %u %s%s of %u bytes from %u%s%s: first %lx, judged %d\n",
                rb_process.ops->name, (unsigned long)w.checked, me->hb.slot, t.atomic ? "atomic " : "",
                t.write ? "write" : "read", (unsigned)t.size, (unsigned)(t.address - w.start),
                recalled ? ", remembered"
                : known  ? ", known"
                         : "",
                t.record ? "" : ", not recorded", (unsigned long)hit.epoch, races);
        fail();
    }
    w.checked++;
    w.raced += hit.epoch != 0;
    w.recalled += recalled;
    w.known += known;
}

static void forget_byte(struct byte *b)
{
    for (unsigned k = 0; k < 2; k++)
        rb_history_clear(&w.engine, &b->cell[k]);
    b->count = 0;
}

static void forget_some(struct rb_self *me)
{
    const uint32_t size = 1 + below(below(4) ? 20 : BYTES), at = below(BYTES - size + 1);

    rb_accesses_forget(me, w.start + at, size);
    for (uint32_t i = at; i < at + size; i++)
        forget_byte(&w.byte[i]);
}

static void forget_all(void)
{
    rb_accesses_forget_all();
    for (uint32_t i = 0; i < BYTES; i++)
        forget_byte(&w.byte[i]);
}

// Java's collector: 8 bytes that lie apart, or overlap.
static void move_some(struct rb_self *me)
{
    const uint32_t size = 8 * (1 + below(4)), from = 8 * below((BYTES - size) / 8 + 1);
    const uint32_t to = 8 * below((BYTES - size) / 8 + 1);

    if (from == to)
        return;
    rb_accesses_move(me, w.start + from, w.start + to, size);
    for (uint32_t i = 0; i < size; i++) {
        const uint32_t k = to > from ? size - 1 - i : i;
        forget_byte(&w.byte[to + k]);
        w.byte[to + k] = w.byte[from + k];
        memset(&w.byte[from + k], 0, sizeof(w.byte[0]));
    }
}

// The next thread's turn, which mostly comes after the last one's.
static struct rb_self *take_turns(struct rb_self *last, bool mostly_ordered)
{
    struct rb_self *next = &w.thread[below(THREADS)];

    if (!mostly_ordered)
        return next;
    if (below(8))
        return last;
    if (below(32)) {
        rb_process.ops->release_store(&last->engine, &last->hb, &w.turns);
        rb_process.ops->acquire(&next->engine, &next->hb, &w.turns);
    }
    return next;
}

static void go(const struct rb_engine_ops *ops, uint64_t seed, uint32_t steps)
{
    open_world(ops, seed);
    const bool pacer = below(4) == 0, ordered = !w.small && below(3);
    struct rb_self *me = &w.thread[0];
    for (uint32_t i = 0; i < steps; i++) {
        const uint32_t what = below(1000);
        me = take_turns(me, ordered);
        if (what < 50)
            synchronise(me);
        else if (what < 70 && !w.small)
            forget_some(me);
        else if (what == 70 && !w.small)
            forget_all();
        else if (what == 71 && !w.small)
            move_some(me);
        else
            access_memory(me, pacer);
    }
    close_world();
}

static uint64_t dropped(void)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < THREADS; i++)
        sum += w.thread[i].count.dropped;
    return sum;
}

static void exact(void **state)
{
    const uint32_t n = test_traces(400);

    (void)state;
    assert_int_equal(rb_accesses_init((size_t)16 << 20), 0);
    for (uint32_t i = 0; i < n; i++)
        for (int e = 0; rb_engines[e]; e++) {
            if (rb_engines[e]->predict)
                continue;
            go(rb_engines[e], 100000 + i, 1500);
            assert_int_equal(dropped(), 0);
        }
    print_message("%lu accesses, %lu raced, %lu known already, %lu of them remembered\n",
                  (unsigned long)w.checked, (unsigned long)w.raced, (unsigned long)w.known,
                  (unsigned long)w.recalled);
    assert_true(w.raced > w.checked / 20 && w.raced < w.checked / 2 && w.recalled > w.checked / 200 &&
                w.known > 3 * w.recalled / 2);
}

// Buckets that all lines share: entries go, and nothing false comes.
static void crowded(void **state)
{
    uint64_t gone = 0;

    (void)state;
    w.small = true;
    assert_int_equal(rb_accesses_init(0), 0);
    for (uint32_t i = 0; i < 50; i++)
        for (int e = 0; rb_engines[e]; e++) {
            if (rb_engines[e]->predict)
                continue;
            go(rb_engines[e], 200000 + i, 10000);
            gone += dropped();
        }
    w.small = false;
    print_message("%lu entries dropped\n", (unsigned long)gone);
    assert_true(gone > 1000);
}

// A line whose bytes were all accessed at places of their own by all threads has its entries in more than one
// bucket; those are found, and go with it.
static void one_line(void **state)
{
    struct rb_hit hit;

    (void)state;
    assert_int_equal(rb_accesses_init((size_t)16 << 20), 0);
    open_world(&rb_so, 1);
    for (uint32_t i = 0; i < 32; i++)
        for (uint32_t k = 0; k < 2; k++) {
            const struct rb_memory_access t = {w.start + i, 1, k == 0, false, true};
            rb_accesses_touch(&w.thread[k], &t, rb_where(1 + i, k, 1), &hit);
            assert_int_equal(hit.epoch != 0, k);
        }
    for (uint32_t i = 0; i < 32; i++) {
        const struct rb_memory_access t = {w.start + i, 1, false, false, false};
        rb_accesses_touch(&w.thread[2], &t, 0, &hit);
        assert_true(hit.epoch && rb_where_stack(hit.where) == 1 + i && hit.address == w.start + i);
    }
    rb_accesses_forget(&w.thread[0], w.start, 31);
    for (uint32_t i = 0; i < 32; i++) {
        const struct rb_memory_access t = {w.start + i, 1, true, false, false};
        rb_accesses_touch(&w.thread[2], &t, 0, &hit);
        assert_int_equal(hit.epoch != 0, i == 31);
    }
    assert_int_equal(dropped(), 0);
    close_world();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact),
        cmocka_unit_test(crowded),
        cmocka_unit_test(one_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
