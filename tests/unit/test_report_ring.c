// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ring that a program shares with its reporter: order, wrapping, room, what outlives a reporter, and what
// a damaged one does.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/report_ring.h"
#include "base/rng.h"

#define DATA_BYTES 4096u

static struct rb_ring *new_ring(void)
{
    const size_t bytes = sizeof(struct rb_ring) + DATA_BYTES;
    struct rb_ring *r = aligned_alloc(64, (bytes + 63) / 64 * 64);

    assert_non_null(r);
    memset(r, 0, bytes);
    rb_ring_init(r, bytes, 1);
    return r;
}

static bool put(struct rb_ring *r, unsigned number, unsigned length)
{
    char record[2048], plain[16];

    memset(record, 'a' + (int)(number % 26), sizeof(record));
    const int n = snprintf(plain, sizeof(plain), "%u", number);
    return rb_ring_put(r, record, length, plain, (uint32_t)n);
}

// Takes the oldest record, which must be this one.
static void take(struct rb_ring *r, unsigned number, unsigned length)
{
    struct rb_ring_view view = {0};
    char plain[16];

    assert_int_equal(rb_ring_look(r, r->bytes, &view), 1);
    assert_int_equal(view.record_bytes, length);
    for (unsigned i = 0; i < length; i++)
        assert_int_equal(view.record[i], 'a' + (int)(number % 26));
    snprintf(plain, sizeof(plain), "%.*s", (int)view.plain_bytes, view.plain);
    assert_int_equal(atoi(plain), number);
    rb_ring_taken(r, &view);
}

static void test_order(void **state)
{
    struct rb_ring *r = new_ring();
    struct rb_rng rng;
    unsigned length[64], in = 0, out = 0;

    (void)state;
    rb_rng_seed(&rng, 7);
    for (unsigned step = 0; step < 20000; step++) {
        const unsigned bytes = (unsigned)rb_rng_below(&rng, 900) + 1;
        if (rb_rng_below(&rng, 2) && in - out < 64 && put(r, in, bytes)) {
            length[in % 64] = bytes;
            in++;
        } else if (out < in) {
            take(r, out, length[out % 64]);
            out++;
        }
        assert_true(r->head - r->tail <= r->bytes);
    }
    assert_true(in > 1000);
    for (; out < in; out++)
        take(r, out, length[out % 64]);
    struct rb_ring_view view = {0};
    assert_int_equal(rb_ring_look(r, r->bytes, &view), 0);
    free(r);
}

static void test_full(void **state)
{
    struct rb_ring *r = new_ring();
    unsigned n = 0;

    (void)state;
    while (put(r, n, 500))
        n++;
    assert_in_range(n, 6, 8);
    assert_false(put(r, n, 500));
    take(r, 0, 500);
    assert_true(put(r, n, 500));
    assert_true(rb_ring_too_long(r, DATA_BYTES, 0));
    assert_false(rb_ring_too_long(r, DATA_BYTES / 2 - 64, 0));
    free(r);
}

static void test_inherit(void **state)
{
    struct rb_ring *from = new_ring(), *to = new_ring();

    (void)state;
    for (unsigned i = 0; i < 5; i++)
        assert_true(put(from, i, 600));
    take(from, 0, 600);
    take(from, 1, 600);
    from->counts.shown = 2;
    rb_ring_cause(from, 4711)->id = 5;
    rb_ring_inherit(to, from);
    assert_int_equal(rb_ring_pending(from), 0);
    assert_int_equal(to->counts.shown, 2);
    assert_int_equal(rb_ring_cause(to, 4711)->id, 5);
    for (unsigned i = 2; i < 5; i++)
        take(to, i, 600);
    assert_int_equal(rb_ring_pending(to), 0);
    free(from);
    free(to);
}

static void test_causes(void **state)
{
    struct rb_ring *r = new_ring();
    unsigned n = 0;

    (void)state;
    for (uint64_t i = 1; i < 3 * RB_RING_CAUSES; i++) {
        struct rb_ring_cause *c = rb_ring_cause(r, i * 0x9e3779b97f4a7c15);
        if (c && !c->id) {
            c->id = i;
            n++;
        }
    }
    assert_in_range(n, RB_RING_CAUSES / 2, RB_RING_CAUSES);
    for (uint64_t i = 1; i < RB_RING_CAUSES / 2; i++)
        assert_int_equal(rb_ring_cause(r, i * 0x9e3779b97f4a7c15)->id, i);
    free(r);
}

// Whatever is written over it, the reader reads inside the ring and comes to an end.
static void test_damage(void **state)
{
    struct rb_rng rng;

    (void)state;
    rb_rng_seed(&rng, 11);
    for (unsigned run = 0; run < 20000; run++) {
        struct rb_ring *r = new_ring();
        const uint64_t bytes = r->bytes;
        struct rb_ring_view view;
        unsigned looks = 0, sum = 0;
        int found;
        for (unsigned i = 0; i < 6; i++)
            put(r, i, 400);
        for (unsigned i = 0; i < 3; i++) {
            char *const parts[] = {(char *)&r->head, (char *)&r->tail, r->data};
            const uint64_t part = rb_rng_below(&rng, 3), room = part == 2 ? bytes : 8;
            parts[part][rb_rng_below(&rng, room)] ^= (char)(1u << rb_rng_below(&rng, 8));
        }
        while ((found = rb_ring_look(r, bytes, &view)) != 0) {
            assert_true(++looks < 1000);
            if (found < 0)
                continue;
            assert_true(view.record >= r->data && view.plain + view.plain_bytes <= r->data + bytes);
            for (unsigned i = 0; i < view.record_bytes; i++)
                sum += (unsigned char)view.record[i];
            rb_ring_taken(r, &view);
        }
        assert_true(sum < UINT32_MAX);
        free(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),  cmocka_unit_test(test_full),   cmocka_unit_test(test_inherit),
        cmocka_unit_test(test_causes), cmocka_unit_test(test_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
