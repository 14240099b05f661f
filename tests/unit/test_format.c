// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The packed record and the checksum: random round trips over random layouts, and that the checksum sees what
// it promises to see.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "trace/format.h"

static enum rb_op random_op(struct rb_rng *rng)
{
    for (;;) {
        const enum rb_op op = (enum rb_op)rb_rng_below(rng, RB_OPS);
        if (rb_op_info[op].text)
            return op;
    }
}

static uint64_t random_below_bits(struct rb_rng *rng, unsigned bits)
{
    const uint64_t most = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;

    switch (rb_rng_below(rng, 4)) {
    case 0:
        return most;
    case 1:
        return 0;
    default:
        return rb_rng_next(rng) & most;
    }
}

static void packs_and_unpacks_any_layout(void **state)
{
    struct rb_rng rng;

    (void)state;
    rb_rng_seed(&rng, 1);
    for (int round = 0; round < 20000; round++) {
        const unsigned thread_bits = (unsigned)rb_rng_below(&rng, 27);
        const unsigned location_bits = (unsigned)rb_rng_below(&rng, 32);
        const unsigned room = 58 - (thread_bits + location_bits < 58 ? thread_bits + location_bits : 58);
        const unsigned target_bits = (unsigned)rb_rng_below(&rng, (room > 56 ? 56 : room) + 1);
        struct rb_layout l;
        assert_int_equal(rb_layout_set(&l, 8, target_bits, thread_bits, location_bits),
                         target_bits + thread_bits + location_bits <= 58);
        if (target_bits + thread_bits + location_bits > 58)
            continue;

        const struct rb_event e = {.target = random_below_bits(&rng, target_bits),
                                   .thread = (uint32_t)random_below_bits(&rng, thread_bits),
                                   .location = (uint32_t)random_below_bits(&rng, location_bits),
                                   .op = random_op(&rng)};
        uint64_t word[2];
        assert_true(rb_fits(&l, &e));
        rb_pack(&l, &e, word);
        const struct rb_event back = rb_unpack(&l, word, false);
        assert_int_equal(back.target, e.target);
        assert_int_equal(back.thread, e.thread);
        assert_int_equal(back.location, e.location);
        assert_int_equal(back.op, e.op);
        assert_int_equal(word[0] >> 63, e.op >= RB_FIRST_NON_ACCESS);

        struct rb_event big = e;
        big.target = l.target_mask + 1;
        assert_false(rb_fits(&l, &big));
    }
}

static void packs_and_unpacks_wide_records(void **state)
{
    struct rb_layout l;
    struct rb_rng rng;

    (void)state;
    rb_rng_seed(&rng, 2);
    assert_true(rb_layout_set(&l, 16, 0, 0, 0));
    for (int round = 0; round < 20000; round++) {
        const struct rb_event e = {.target = random_below_bits(&rng, 64),
                                   .thread = (uint32_t)random_below_bits(&rng, 26),
                                   .location = (uint32_t)random_below_bits(&rng, 32),
                                   .op = random_op(&rng)};
        uint64_t words[2];
        rb_pack(&l, &e, words);
        const struct rb_event back = rb_unpack(&l, words, true);
        assert_int_equal(back.target, e.target);
        assert_int_equal(back.thread, e.thread);
        assert_int_equal(back.location, e.location);
        assert_int_equal(back.op, e.op);
    }
}

static void refuses_impossible_layouts(void **state)
{
    struct rb_layout l;

    (void)state;
    assert_false(rb_layout_set(&l, 8, 57, 0, 0));
    assert_false(rb_layout_set(&l, 8, 26, 13, 20));
    assert_false(rb_layout_set(&l, 8, 0, 33, 0));
    assert_false(rb_layout_set(&l, 8, 0, 0, 33));
    assert_false(rb_layout_set(&l, 4, 8, 8, 8));
    assert_false(rb_layout_set(&l, 0, 0, 0, 0));
    assert_true(rb_layout_set(&l, 8, 26, 13, 19));
}

enum { WORDS = 510 };

static void fill(uint64_t *words, size_t n, uint64_t seed)
{
    struct rb_rng rng;

    rb_rng_seed(&rng, seed);
    for (size_t i = 0; i < n; i++)
        words[i] = rb_rng_next(&rng);
}

static void sum_sees_every_flipped_bit(void **state)
{
    uint64_t words[WORDS];

    (void)state;
    for (int zero = 0; zero < 2; zero++) {
        fill(words, WORDS, 3);
        if (zero)
            memset(words, 0, sizeof(words));
        const uint64_t sum = rb_sum(words, WORDS, 1);
        for (size_t bit = 0; bit < WORDS * 64; bit++) {
            words[bit / 64] ^= UINT64_C(1) << bit % 64;
            if (rb_sum(words, WORDS, 1) == sum)
                fail_msg("bit %zu", bit);
            words[bit / 64] ^= UINT64_C(1) << bit % 64;
        }
        assert_int_equal(rb_sum(words, WORDS, 1), sum);
    }
}

static void sum_sees_swapped_words(void **state)
{
    uint64_t words[64];

    (void)state;
    fill(words, 64, 4);
    const uint64_t sum = rb_sum(words, 64, 1);
    for (size_t i = 0; i < 64; i++) {
        for (size_t j = 0; j < i; j++) {
            const uint64_t a = words[i], b = words[j];
            words[i] = b;
            words[j] = a;
            if (rb_sum(words, 64, 1) == sum)
                fail_msg("words %zu and %zu", i, j);
            words[i] = a;
            words[j] = b;
        }
    }
}

static void sum_depends_on_seed_and_length(void **state)
{
    uint64_t words[WORDS] = {0};

    (void)state;
    assert_int_not_equal(rb_sum(words, WORDS, 1), rb_sum(words, WORDS, 2));
    assert_int_not_equal(rb_sum(words, 4, 0), rb_sum(words, 5, 0));
    assert_int_not_equal(rb_sum(words, 0, 0), rb_sum(words, 1, 0));
}

// The example of docs/reference/trace-format.md: an implementation elsewhere must agree on these.
static void sum_is_the_documented_one(void **state)
{
    const uint64_t words[6] = {1, 2, 3, 4, 5, 6};

    (void)state;
    assert_int_equal(rb_sum(words, 6, 1), UINT64_C(0x431a8529c9265ad2));
    assert_int_equal(rb_sum(words, 0, 0), UINT64_C(0x17724f25c43a26e3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packs_and_unpacks_any_layout), cmocka_unit_test(packs_and_unpacks_wide_records),
        cmocka_unit_test(refuses_impossible_layouts),   cmocka_unit_test(sum_sees_every_flipped_bit),
        cmocka_unit_test(sum_sees_swapped_words),       cmocka_unit_test(sum_depends_on_seed_and_length),
        cmocka_unit_test(sum_is_the_documented_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
