// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory as variables, against the definition: two accesses share a variable exactly if they share a byte in
// the same life of it, one of them at least is plain or they are of one thread, and nothing was forgotten in
// between.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "lab/record/merge_memory.h"

#define BASE  UINT64_C(0x7f0000000f80) // accesses lie around a page's end
#define SPAN  256u
#define MOST  160u
#define ROOMY 2048u

enum kind { PLAIN, ATOMIC, FORGET };

struct step {
    enum kind kind;
    uint64_t address, size;
    uint32_t thread, generation;
    uint32_t variable[ROOMY], variables;
};

static void add_variable(void *context, uint32_t variable)
{
    struct step *s = context;

    assert_true(s->variables < ROOMY);
    s->variable[s->variables++] = variable;
}

static void run(struct rb_memory *m, struct step *steps, unsigned count)
{
    rb_memory_init(m);
    for (unsigned i = 0; i < count; i++)
        if (steps[i].kind != FORGET)
            assert_true(
                rb_memory_note(m, steps[i].address, steps[i].size, steps[i].thread, steps[i].kind == ATOMIC));
    assert_true(rb_memory_settle(m));
    for (unsigned i = 0; i < count; i++) {
        struct step *s = &steps[i];
        s->variables = 0;
        if (s->kind == FORGET)
            rb_memory_forget(m, s->address, s->size);
        else
            assert_true(rb_memory_touch(m, s->address, s->size, s->thread, s->kind == ATOMIC, s->generation,
                                        add_variable, s));
    }
}

static bool share(const struct step *a, const struct step *b)
{
    for (uint32_t i = 0; i < a->variables; i++)
        for (uint32_t k = 0; k < b->variables; k++)
            if (a->variable[i] == b->variable[k])
                return true;
    return false;
}

// Is there a byte that both touch and that was not forgotten in between?
static bool meet(const struct step *steps, unsigned i, unsigned k)
{
    const struct step *a = &steps[i], *b = &steps[k];

    if (a->generation != b->generation)
        return false;
    for (uint64_t at = a->address; at < a->address + a->size; at++) {
        bool forgotten = at < b->address || at >= b->address + b->size;
        for (unsigned f = i + 1; f < k && !forgotten; f++)
            forgotten =
                steps[f].kind == FORGET && at >= steps[f].address && at < steps[f].address + steps[f].size;
        if (!forgotten)
            return true;
    }
    return false;
}

static struct step random_step(struct rb_rng *rng, bool atomics)
{
    static const uint8_t sizes[] = {1, 2, 4, 8, 8, 16, 3, 40};
    struct step s = {.kind = PLAIN, .thread = (uint32_t)rb_rng_below(rng, 3), .generation = 1};

    s.size = sizes[rb_rng_below(rng, RB_LENGTH(sizes))];
    s.address = BASE + rb_rng_below(rng, SPAN);
    if (atomics && rb_rng_below(rng, 2)) {
        s.kind = ATOMIC;
        s.size = UINT64_C(1) << rb_rng_below(rng, 4);
        s.address -= s.address % s.size;
    }
    return s;
}

static void accesses_share_variables_if_they_share_bytes(void **state)
{
    static struct step steps[MOST];
    struct rb_memory m;
    struct rb_rng rng;

    (void)state;
    rb_rng_seed(&rng, 7);
    for (int round = 0; round < 200; round++) {
        const unsigned count = 2 + (unsigned)rb_rng_below(&rng, MOST - 2);
        for (unsigned i = 0; i < count; i++)
            steps[i] = random_step(&rng, false);
        run(&m, steps, count);
        for (unsigned i = 0; i < count; i++) {
            assert_true(steps[i].variables > 0);
            for (unsigned k = i + 1; k < count; k++)
                assert_int_equal(share(&steps[i], &steps[k]), meet(steps, i, k));
        }
        rb_memory_free(&m);
    }
}

static void atomic_accesses_meet_plain_ones_only(void **state)
{
    static struct step steps[MOST];
    struct rb_memory m;
    struct rb_rng rng;

    (void)state;
    rb_rng_seed(&rng, 8);
    for (int round = 0; round < 200; round++) {
        const unsigned count = 2 + (unsigned)rb_rng_below(&rng, MOST - 2);
        for (unsigned i = 0; i < count; i++)
            steps[i] = random_step(&rng, true);
        run(&m, steps, count);
        for (unsigned i = 0; i < count; i++)
            for (unsigned k = i + 1; k < count; k++) {
                const struct step *a = &steps[i], *b = &steps[k];
                if (a->thread == b->thread) // cannot race, shared or not
                    continue;
                assert_int_equal(share(a, b), meet(steps, i, k) && (a->kind == PLAIN || b->kind == PLAIN));
            }
        rb_memory_free(&m);
    }
}

// Blocks of 64 bytes that are allocated, used inside, and allocated again, as one or as two halves.
static void forgotten_memory_has_new_variables(void **state)
{
    static struct step steps[MOST];
    struct rb_memory m;
    struct rb_rng rng;

    (void)state;
    rb_rng_seed(&rng, 9);
    for (int round = 0; round < 300; round++) {
        const unsigned count = 8 + (unsigned)rb_rng_below(&rng, MOST - 8);
        uint64_t block[8] = {0}; // where each 32 bytes' block begins
        uint64_t size[8] = {0};
        for (unsigned i = 0; i < count; i++) {
            const unsigned half = (unsigned)rb_rng_below(&rng, 8);
            if (!size[half] || rb_rng_below(&rng, 10) == 0) {
                const bool both = rb_rng_below(&rng, 2);
                const unsigned first = both ? half & ~1u : half;
                if (size[half] == 64 && !both) // the other half is gone as well
                    size[half ^ 1] = 0;
                for (unsigned h = first; h < first + 1 + both; h++) {
                    block[h] = BASE + 32 * (uint64_t)first;
                    size[h] = both ? 64 : 32;
                }
                steps[i] = (struct step){.kind = FORGET, .address = block[half], .size = size[half]};
                continue;
            }
            steps[i] = random_step(&rng, false);
            steps[i].size = steps[i].size > 16 ? size[half] : steps[i].size;
            steps[i].address = block[half] + rb_rng_below(&rng, size[half] - steps[i].size + 1);
        }
        run(&m, steps, count);
        for (unsigned i = 0; i < count; i++)
            for (unsigned k = i + 1; k < count; k++)
                if (steps[i].kind != FORGET && steps[k].kind != FORGET)
                    assert_int_equal(share(&steps[i], &steps[k]), meet(steps, i, k));
        rb_memory_free(&m);
    }
}

static void a_new_generation_forgets_all(void **state)
{
    struct step steps[] = {
        {.kind = PLAIN, .address = BASE, .size = 8, .generation = 1},
        {.kind = ATOMIC, .address = BASE, .size = 8, .thread = 1, .generation = 1},
        {.kind = PLAIN, .address = BASE, .size = 8, .thread = 2, .generation = 2},
        {.kind = ATOMIC, .address = BASE, .size = 8, .thread = 1, .generation = 2},
    };
    struct rb_memory m;

    (void)state;
    run(&m, steps, 4);
    assert_true(share(&steps[0], &steps[1]));
    assert_true(share(&steps[2], &steps[3]));
    assert_false(share(&steps[0], &steps[2]) || share(&steps[0], &steps[3]) || share(&steps[1], &steps[2]) ||
                 share(&steps[1], &steps[3]));
    rb_memory_free(&m);
}

static void atomics_alone_touch_nothing(void **state)
{
    struct step steps[] = {
        {.kind = ATOMIC, .address = BASE, .size = 4, .thread = 1, .generation = 1},
        {.kind = ATOMIC, .address = BASE, .size = 4, .thread = 2, .generation = 1},
        {.kind = PLAIN, .address = BASE + 8, .size = 4, .thread = 2, .generation = 1},
    };
    struct rb_memory m;

    (void)state;
    run(&m, steps, 3);
    assert_int_equal(steps[0].variables, 0);
    assert_int_equal(steps[1].variables, 0);
    assert_int_equal(steps[2].variables, 1);
    assert_false(rb_memory_mixed(&m, BASE, 4));
    rb_memory_free(&m);
}

// A range that is used as a whole is one variable a page; a whole address space may be forgotten at once.
static void large_ranges_are_few_variables(void **state)
{
    struct step steps[] = {
        {.kind = PLAIN, .address = 0x10000, .size = 100 * RB_MEMORY_PAGE, .generation = 1},
        {.kind = FORGET, .address = 0, .size = UINT64_C(1) << 47},
        {.kind = PLAIN, .address = 0x10000, .size = 100 * RB_MEMORY_PAGE, .generation = 1},
    };
    struct rb_memory m;

    (void)state;
    run(&m, steps, 3);
    assert_int_equal(steps[0].variables, 100);
    assert_int_equal(steps[2].variables, 100);
    assert_false(share(&steps[0], &steps[2]));
    rb_memory_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accesses_share_variables_if_they_share_bytes),
        cmocka_unit_test(atomic_accesses_meet_plain_ones_only),
        cmocka_unit_test(forgotten_memory_has_new_variables),
        cmocka_unit_test(a_new_generation_forgets_all),
        cmocka_unit_test(atomics_alone_touch_nothing),
        cmocka_unit_test(large_ranges_are_few_variables),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
