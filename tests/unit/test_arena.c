// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The arena: alignment, the limit, and that what is handed out belongs to nobody else.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/rng.h"

#define SMALL_MOST ((size_t)RB_ARENA_SMALL * 64)

static void aligned(const void *block)
{
    assert_non_null(block);
    assert_int_equal((uintptr_t)block % 64, 0);
}

static bool all_zero(const void *block, size_t bytes)
{
    const unsigned char *b = block;

    for (size_t i = 0; i < bytes; i++)
        if (b[i] != 0)
            return false;
    return true;
}

static void sizes(void **state)
{
    static const size_t bytes[] = {0,   1,    8,    63,   64,    65,    127,        128,
                                   192, 4095, 4096, 4097, 65472, 65535, SMALL_MOST, SMALL_MOST + 1};
    struct rb_arena a;

    (void)state;
    rb_arena_init(&a, SIZE_MAX);
    for (size_t i = 0; i < RB_LENGTH(bytes); i++) {
        char *one = rb_arena_alloc(&a, bytes[i]), *two = rb_arena_zalloc(&a, bytes[i]);
        aligned(one);
        aligned(two);
        assert_ptr_not_equal(one, two);
        memset(one, 0xff, bytes[i]);
        assert_true(all_zero(two, bytes[i])); // its neighbour did not write into it
    }
    rb_arena_destroy(&a);
    assert_int_equal(a.mapped, 0);
}

// No memory for absurd sizes, and no wrap-around to small ones.
static void absurd(void **state)
{
    static const size_t bytes[] = {SIZE_MAX,         SIZE_MAX - 62,   SIZE_MAX - 63,   SIZE_MAX / 2,
                                   SIZE_MAX / 2 + 1, (size_t)1 << 60, (size_t)1 << 54, ((size_t)1 << 54) + 1};
    struct rb_arena a;

    (void)state;
    rb_arena_init(&a, SIZE_MAX);
    for (size_t i = 0; i < RB_LENGTH(bytes); i++) {
        assert_null(rb_arena_alloc(&a, bytes[i]));
        assert_null(rb_arena_zalloc(&a, bytes[i]));
    }
    assert_int_equal(a.mapped, 0);
    aligned(rb_arena_alloc(&a, 64)); // and goes on
    rb_arena_destroy(&a);
}

static void limits(void **state)
{
    (void)state;
    for (size_t limit = 0; limit < (3u << 20); limit += 52001) {
        struct rb_arena a;
        struct rb_rng rng;
        uint32_t given = 0, refused = 0;
        size_t sum = 0;

        rb_arena_init(&a, limit);
        rb_rng_seed(&rng, limit);
        while (refused < 50) {
            const size_t bytes = (size_t)rb_rng_below(&rng, given % 50 ? 3000 : 200000);
            char *block = rb_arena_alloc(&a, bytes);
            assert_true(a.mapped <= limit);
            if (block) {
                memset(block, 1, bytes); // is really there
                sum += bytes;
                given++;
            } else {
                refused++;
            }
        }
        assert_true(sum <= limit);
        rb_arena_destroy(&a);
        assert_int_equal(a.mapped, 0);
        assert_int_equal(a.limit, limit);
    }
}

// A small block of what is left below the limit is still handed out when a whole region does not fit.
static void last_pages(void **state)
{
    struct rb_arena a;

    (void)state;
    rb_arena_init(&a, 8192);
    assert_non_null(rb_arena_alloc(&a, 64));
    assert_non_null(rb_arena_alloc(&a, 64));
    assert_null(rb_arena_alloc(&a, 8192));
    assert_true(a.mapped <= 8192);
    rb_arena_destroy(&a);
    rb_arena_init(&a, 4095);
    assert_null(rb_arena_alloc(&a, 1));
    rb_arena_destroy(&a);
}

static void reuse(void **state)
{
    static const size_t bytes[] = {1, 64, 640, 5000, SMALL_MOST, SMALL_MOST + 1, 1000000};
    struct rb_arena a;

    (void)state;
    rb_arena_init(&a, SIZE_MAX);
    for (size_t i = 0; i < RB_LENGTH(bytes); i++) {
        char *one = rb_arena_alloc(&a, bytes[i]), *two = rb_arena_alloc(&a, bytes[i]);
        memset(one, 0xa5, bytes[i]);
        memset(two, 0xa5, bytes[i]);
        rb_arena_free(&a, one, bytes[i]);
        rb_arena_free(&a, two, bytes[i]);
        const size_t mapped = a.mapped;
        assert_ptr_equal(rb_arena_alloc(&a, bytes[i]), two); // last in, first out
        char *zero = rb_arena_zalloc(&a, bytes[i]);
        assert_ptr_equal(zero, one);
        assert_true(all_zero(zero, bytes[i]));
        assert_int_equal(a.mapped, mapped);
    }
    rb_arena_free(&a, NULL, 64); // nothing
    rb_arena_destroy(&a);
}

// Many blocks come and go; each keeps what its owner wrote until it is given back.
static void stress(void **state)
{
    enum { LIVE = 500 };
    static struct {
        uint64_t *block;
        size_t words;
        uint64_t mark;
    } live[LIVE];
    struct rb_arena a;
    struct rb_rng rng;
    size_t mapped_early = 0;

    (void)state;
    rb_arena_init(&a, SIZE_MAX);
    rb_rng_seed(&rng, 7);
    for (uint32_t round = 0; round < 60000; round++) {
        const uint32_t i = (uint32_t)rb_rng_below(&rng, LIVE);
        if (live[i].block) {
            for (size_t k = 0; k < live[i].words; k++)
                assert_true(live[i].block[k] == live[i].mark + k);
            rb_arena_free(&a, live[i].block, live[i].words * 8);
        }
        live[i].words = (size_t)rb_rng_below(&rng, round % 100 ? 40 : 20000);
        live[i].mark = rb_rng_next(&rng);
        const bool zeroed = round % 2;
        live[i].block =
            zeroed ? rb_arena_zalloc(&a, live[i].words * 8) : rb_arena_alloc(&a, live[i].words * 8);
        aligned(live[i].block);
        if (zeroed)
            assert_true(all_zero(live[i].block, live[i].words * 8));
        for (size_t k = 0; k < live[i].words; k++)
            live[i].block[k] = live[i].mark + k;
        if (round == 30000)
            mapped_early = a.mapped;
    }
    assert_true(a.mapped < 4 * mapped_early); // classes fill up, and then it stays
    rb_arena_destroy(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),      cmocka_unit_test(absurd), cmocka_unit_test(limits),
        cmocka_unit_test(last_pages), cmocka_unit_test(reuse),  cmocka_unit_test(stress),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
