// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Epochs, vector clocks and SO's recent clocks, each against the obvious.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "engine/epoch.h"
#include "engine/recent_clock.h"
#include "engine/vclock.h"

#define SLOTS_MOST 320u

static struct rb_arena arena;
static struct rb_rng rng;

static int open_arena(void **state)
{
    (void)state;
    rb_arena_init(&arena, SIZE_MAX);
    rb_rng_seed(&rng, 20);
    return 0;
}

static int close_arena(void **state)
{
    (void)state;
    rb_arena_destroy(&arena);
    return 0;
}

static uint32_t below(uint32_t n)
{
    return (uint32_t)rb_rng_below(&rng, n);
}

// Mostly small and close together, sometimes at the ends of the range.
static uint32_t random_time(void)
{
    switch (below(8)) {
    case 0:
        return 0;
    case 1:
        return RB_EPOCH_TIME_MAX - below(3);
    default:
        return below(6);
    }
}

// ---- epochs --------------------------------------------------------------------------------------------

static void epochs(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 1000000; i++) {
        const uint32_t slot = below(65536), time = 1 + below(RB_EPOCH_TIME_MAX);
        const bool write = below(2);
        const rb_epoch e = rb_epoch_make(slot, time, write);
        assert_true(rb_epoch_slot(e) == slot && rb_epoch_time(e) == time && rb_epoch_is_write(e) == write);
        assert_true(e != 0 && !(e & RB_EPOCH_MANY));
    }
    const rb_epoch last = rb_epoch_make(65535, RB_EPOCH_TIME_MAX, true);
    assert_int_equal(rb_epoch_slot(last), 65535);
    assert_int_equal(rb_epoch_time(last), RB_EPOCH_TIME_MAX);
    assert_true(rb_epoch_is_write(last) && !(last & RB_EPOCH_MANY));
    assert_true(rb_epoch_make(0, 1, false) != 0);
}

// ---- vector clocks -------------------------------------------------------------------------------------

static struct rb_vclock *random_clock(uint32_t slots, uint32_t model[SLOTS_MOST])
{
    struct rb_vclock *c = rb_vclock_new(&arena, slots);

    assert_non_null(c);
    assert_true(c->size >= slots && c->size < slots + slots / 4 + 16 && c->size % 16 == 0);
    memset(model, 0, SLOTS_MOST * sizeof(model[0]));
    for (uint32_t i = 0; i < c->size; i++) {
        assert_int_equal(c->time[i], 0);
        c->time[i] = model[i] = i < slots ? random_time() : 0;
    }
    return c;
}

static void same(const struct rb_vclock *c, const uint32_t model[SLOTS_MOST])
{
    for (uint32_t i = 0; i < SLOTS_MOST + 100; i++)
        assert_int_equal(rb_vclock_get(c, i), i < SLOTS_MOST ? model[i] : 0);
}

static void vclocks(void **state)
{
    uint32_t to_model[SLOTS_MOST], from_model[SLOTS_MOST];

    (void)state;
    for (uint32_t round = 0; round < 1500; round++) {
        const uint32_t slots = 1 + round % 300;
        struct rb_vclock *from = random_clock(slots, from_model);
        struct rb_vclock *to = random_clock(1 + below(300), to_model);
        uint32_t rose = 0;

        same(to, to_model);
        assert_true(rb_vclock_reserve(&arena, &to, from->size));
        assert_true(to->size >= from->size);
        same(to, to_model);
        switch (round % 3) {
        case 0:
            rb_vclock_copy(to, from);
            memcpy(to_model, from_model, sizeof(to_model));
            break;
        case 1:
            rb_vclock_join(to, from);
            break;
        default:
            for (uint32_t i = 0; i < SLOTS_MOST; i++)
                rose += from_model[i] > to_model[i];
            assert_int_equal(rb_vclock_join_count(to, from), rose);
        }
        for (uint32_t i = 0; i < SLOTS_MOST; i++)
            if (from_model[i] > to_model[i])
                to_model[i] = from_model[i];
        same(to, to_model);
        same(from, from_model);
        rb_vclock_free(&arena, to);
        rb_vclock_free(&arena, from);
    }
}

static void fresh_clocks(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 900; round++) {
        struct rb_fresh *from = rb_fresh_new(&arena, 1 + round % 300),
                        *to = rb_fresh_new(&arena, 1 + below(300));
        uint64_t model[SLOTS_MOST] = {0};

        for (uint32_t i = 0; i < from->size; i++) {
            assert_true(from->changes[i] == 0);
            from->changes[i] = (uint64_t)random_time() << below(31);
        }
        for (uint32_t i = 0; i < to->size; i++) {
            assert_true(to->changes[i] == 0);
            to->changes[i] = model[i] = (uint64_t)random_time() << below(31);
        }
        assert_true(rb_fresh_reserve(&arena, &to, from->size));
        if (round % 2) {
            rb_fresh_copy(to, from);
            memset(model, 0, sizeof(model));
        } else {
            rb_fresh_join(to, from);
        }
        for (uint32_t i = 0; i < SLOTS_MOST; i++) {
            const uint64_t theirs = rb_fresh_get(from, i);
            assert_true(rb_fresh_get(to, i) == (theirs > model[i] ? theirs : model[i]));
        }
        rb_fresh_free(&arena, to);
        rb_fresh_free(&arena, from);
    }
}

// Growing beyond the limit changes nothing.
static void no_room(void **state)
{
    struct rb_arena tight;
    struct rb_vclock *c, *before;
    struct rb_fresh *f, *fresh_before;
    struct rb_rclock *r, *recent_before;
    bool copied;

    (void)state;
    rb_arena_init(&tight, 3 * 4096);
    before = c = rb_vclock_new(&tight, 3);
    fresh_before = f = rb_fresh_new(&tight, 3);
    recent_before = r = rb_rclock_new(&tight, 3);
    assert_true(c && f && r);
    c->time[2] = 5;
    f->changes[1] = 6;
    rb_rclock_set(r, 0, 7, 1);
    assert_false(rb_vclock_reserve(&tight, &c, 4000));
    assert_false(rb_fresh_reserve(&tight, &f, 4000));
    assert_false(rb_rclock_own(&tight, &r, 4000, &copied));
    assert_true(c == before && c->time[2] == 5);
    assert_true(f == fresh_before && f->changes[1] == 6);
    assert_true(r == recent_before && r->time[0] == 7 && r->refs == 1);
    assert_null(rb_vclock_new(&tight, 4000));
    assert_null(rb_fresh_new(&tight, 4000));
    assert_null(rb_rclock_new(&tight, 4000));
    rb_arena_destroy(&tight);
}

// ---- recent clocks -------------------------------------------------------------------------------------

// The obvious version: each entry with the version at which it last changed.
struct model {
    uint32_t time[SLOTS_MOST];
    uint64_t changed[SLOTS_MOST];
    uint64_t version;
};

static uint64_t model_stamp(const struct model *m, uint32_t block)
{
    uint64_t latest = 0;

    for (uint32_t i = block * RB_RCLOCK_BLOCK; i < (block + 1) * RB_RCLOCK_BLOCK; i++)
        latest = m->changed[i] > latest ? m->changed[i] : latest;
    return latest;
}

static void same_recent(const struct rb_rclock *c, const struct model *m)
{
    for (uint32_t i = 0; i < SLOTS_MOST + 40; i++)
        assert_int_equal(rb_rclock_get(c, i), i < SLOTS_MOST ? m->time[i] : 0);
    for (uint32_t b = 0; b < c->size / RB_RCLOCK_BLOCK; b++)
        assert_true(rb_rclock_stamps(c)[b] == model_stamp(m, b));
}

static void change(struct rb_rclock *c, struct model *m)
{
    const uint32_t slot = below(c->size), time = random_time();

    m->version++;
    rb_rclock_set(c, slot, time, m->version);
    m->time[slot] = time;
    m->changed[slot] = m->version;
}

// Sets, shares, copies and grows; what was shared stays as it was.
static void recent_owner(void **state)
{
    static struct model m, was;

    (void)state;
    for (uint32_t round = 0; round < 300; round++) {
        struct rb_rclock *c = rb_rclock_new(&arena, 1 + round), *shared = NULL;

        assert_non_null(c);
        assert_true(c->refs == 1 && c->size > round && c->size % RB_RCLOCK_BLOCK == 0);
        memset(&m, 0, sizeof(m));
        same_recent(c, &m);
        for (uint32_t i = 0; i < 60; i++) {
            const uint32_t slots = below(10) ? 1 : 1 + below(SLOTS_MOST);
            const bool must_copy = c->refs > 1 || slots > c->size;
            struct rb_rclock *before = c;
            bool copied;
            assert_true(rb_rclock_own(&arena, &c, slots, &copied));
            assert_true(copied == must_copy && (c != before) == must_copy);
            assert_true(c->refs == 1 && c->size >= slots);
            change(c, &m);
            same_recent(c, &m);
            if (shared)
                same_recent(shared, &was);
            if (below(4) == 0) {
                if (shared)
                    rb_rclock_unref(&arena, shared);
                rb_rclock_ref(c);
                shared = c;
                was = m;
            }
        }
        if (shared)
            rb_rclock_unref(&arena, shared);
        rb_rclock_unref(&arena, c);
    }
    assert_true(arena.mapped <= 4u << 20); // references went back to zero
}

// Comparing and joining blocks, with clocks of different sizes.
static void recent_blocks(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 3000; round++) {
        struct rb_rclock *have = rb_rclock_new(&arena, 1 + below(300));
        struct rb_rclock *seen = rb_rclock_new(&arena, 1 + round % 300);
        bool copied;

        for (uint32_t i = 0; i < have->size; i++)
            rb_rclock_set(have, i, random_time(), 1);
        for (uint32_t i = 0; i < seen->size; i++)
            rb_rclock_set(seen, i, random_time(), 1);
        for (uint32_t b = 0; b < seen->size / RB_RCLOCK_BLOCK; b++) {
            unsigned rising = 0;
            for (uint32_t i = 0; i < RB_RCLOCK_BLOCK; i++) {
                const uint32_t slot = b * RB_RCLOCK_BLOCK + i;
                rising |= (unsigned)(seen->time[slot] > rb_rclock_get(have, slot)) << i;
            }
            assert_int_equal(rb_rclock_rising(have, seen, b), rising);
        }
        assert_true(rb_rclock_own(&arena, &have, seen->size, &copied));
        const uint32_t blocks = seen->size / RB_RCLOCK_BLOCK, first = below(blocks);
        const uint64_t mask = rb_rng_next(&rng) & ~(~UINT64_C(0) << (blocks - first));
        uint32_t expected[SLOTS_MOST];
        for (uint32_t i = 0; i < SLOTS_MOST; i++) {
            const uint32_t b = i / RB_RCLOCK_BLOCK;
            expected[i] = rb_rclock_get(have, i);
            if (b >= first && mask >> (b - first) & 1 && rb_rclock_get(seen, i) > expected[i])
                expected[i] = rb_rclock_get(seen, i);
        }
        rb_rclock_join_blocks(have, seen, first, mask, 9);
        for (uint32_t i = 0; i < SLOTS_MOST; i++)
            assert_int_equal(rb_rclock_get(have, i), expected[i]);
        for (uint32_t b = 0; b < have->size / RB_RCLOCK_BLOCK; b++)
            assert_true((rb_rclock_stamps(have)[b] == 9) ==
                        (b >= first && b < blocks && (mask >> (b - first) & 1)));
        rb_rclock_unref(&arena, have);
        rb_rclock_unref(&arena, seen);
    }
}

// A reader who looks only at the blocks stamped after the version it knows misses nothing.
static void recent_reader(void **state)
{
    static struct model m;

    (void)state;
    for (uint32_t round = 0; round < 200; round++) {
        struct rb_rclock *owner = rb_rclock_new(&arena, 1 + below(300));
        struct rb_rclock *reader = rb_rclock_new(&arena, owner->size);
        uint64_t known = 0;

        memset(&m, 0, sizeof(m));
        for (uint32_t i = 0; i < 80; i++) {
            const uint32_t slot = below(owner->size);
            m.version++;
            rb_rclock_set(owner, slot, owner->time[slot] + 1, m.version);
            if (below(5))
                continue;
            for (uint32_t b = 0; b < owner->size / RB_RCLOCK_BLOCK; b++)
                if (rb_rclock_stamps(owner)[b] > known)
                    rb_rclock_join_blocks(reader, owner, b, 1, i);
            known = m.version;
            for (uint32_t k = 0; k < owner->size; k++)
                assert_int_equal(reader->time[k], owner->time[k]);
        }
        rb_rclock_unref(&arena, owner);
        rb_rclock_unref(&arena, reader);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(epochs),        cmocka_unit_test(vclocks),      cmocka_unit_test(fresh_clocks),
        cmocka_unit_test(no_room),       cmocka_unit_test(recent_owner), cmocka_unit_test(recent_blocks),
        cmocka_unit_test(recent_reader),
    };

    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
