// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tree of stacks under several threads, full, and reset; and how long captures take.
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "unwind_walks.h"

// ---- the tree ------------------------------------------------------------------------------------------

#define CHAINS 20000

static rb_stack chain(uint64_t number)
{
    struct rb_rng rng;
    rb_stack s = 0;

    rb_rng_seed(&rng, number);
    for (unsigned i = 0; i < 10; i++)
        s = rb_stack_child(s, 0x1000 + rb_rng_below(&rng, 6)); // few: chains share their beginnings
    return s;
}

static void *make_chains(void *into)
{
    rb_stack *to = into;

    for (uint64_t i = 0; i < CHAINS; i++)
        to[i] = chain(i);
    return NULL;
}

void tree_same_numbers(void **state)
{
    static rb_stack numbers[4][CHAINS];
    pthread_t thread[4];
    uintptr_t pcs[20];

    (void)state;
    assert_int_equal(rb_stack_init(TABLE), 0);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, make_chains, numbers[i]), 0);
    for (unsigned i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    for (uint64_t k = 0; k < CHAINS; k++) {
        struct rb_rng rng;
        for (unsigned i = 1; i < 4; i++)
            assert_int_equal(numbers[i][k], numbers[0][k]);
        rb_rng_seed(&rng, k);
        assert_int_equal(rb_stack_frames(numbers[0][k], pcs, 20), 10);
        for (unsigned i = 0; i < 10; i++)
            assert_int_equal(pcs[9 - i], 0x1000 + rb_rng_below(&rng, 6));
        assert_int_equal(rb_stack_frames(numbers[0][k], pcs, 4), 4);
    }
    assert_int_equal(rb_stack_dropped(), 0);
    assert_int_equal(rb_stack_frames(0, pcs, 20), 0);
    assert_int_equal(rb_stack_frames(rb_stack_count() + 1, pcs, 20), 0);
    assert_int_equal(rb_stack_frames(UINT32_MAX, pcs, 20), 0);
}

// The innermost frame is the same for all who look through here.
RB_NOINLINE static void look_here(void)
{
    look();
    __asm__ volatile("");
}

void tree_full(void **state)
{
    uintptr_t pcs[RB_STACK_DEPTH];
    rb_stack s = 0, last = 0;
    unsigned n = 0;

    (void)state;
    assert_int_equal(rb_stack_init(0), -EINVAL);
    assert_int_equal(rb_stack_init(4095), -EINVAL);
    errno = 5;
    assert_int_equal(rb_stack_init((size_t)1 << 60), -ENOMEM);
    assert_int_equal(errno, 5);
    assert_int_equal(rb_stack_init(4096), 0);
    while ((s = rb_stack_child(s, 0x1000 + n))) {
        last = s;
        n++;
    }
    assert_in_range(n, 100, 4096 / 16);
    assert_true(rb_stack_bytes() <= 4096);
    assert_int_equal(rb_stack_frames(last, pcs, 1), 1);
    assert_int_equal(rb_stack_child(last - 1, pcs[0]), last); // still found
    // A capture keeps the place of the access; later, because that is there already.
    for (unsigned i = 1; i <= 2; i++) {
        look_here();
        assert_int_equal(rb_stack_frames(seen.s, pcs, RB_STACK_DEPTH), 1);
        assert_int_equal(pcs[0], seen.expected[0]);
        assert_int_equal(rb_stack_dropped(), i);
        for (n = 0; rb_stack_child(0, 0x9000 + n); n++)
            assert_true(n < 4096 / 16);
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(through_two(&walk, 0x77777, RB_STACK_DEPTH), 0);
    rb_stack_reset();
    assert_int_equal(rb_stack_dropped(), 0);
    look();
    assert_int_equal(rb_stack_frames(seen.s, pcs, RB_STACK_DEPTH),
                     seen.real < RB_STACK_DEPTH ? seen.real : RB_STACK_DEPTH);
    assert_true(same_pcs(pcs, seen.expected, 3));
    assert_int_equal(rb_stack_init(TABLE), 0);
}

void tree_after_fork(void **state)
{
    int status;

    (void)state;
    look();
    const pid_t child = fork();
    if (child == 0) {
        uintptr_t pcs[RB_STACK_DEPTH];
        rb_stack_reset();
        bool good = rb_stack_count() == 0;
        look();
        const unsigned count = rb_stack_frames(seen.s, pcs, RB_STACK_DEPTH);
        good &= count == seen.real && same_pcs(pcs, seen.expected, count) && rb_stack_count() == count;
        _exit(good ? 0 : 1);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

// ---- how long it takes ---------------------------------------------------------------------------------

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

RB_NOINLINE static void hook(void)
{
    through_two(&walk, (uintptr_t)__builtin_return_address(0), RB_STACK_DEPTH);
    __asm__ volatile("");
}

RB_NOINLINE static void leaf(void)
{
    hook();
    __asm__ volatile("# leaf");
}

RB_NOINLINE static void other_leaf(void)
{
    hook();
    __asm__ volatile("# other leaf");
}

RB_NOINLINE static void deeper(void)
{
    leaf();
    __asm__ volatile("# deeper");
}

RB_NOINLINE static void two_sites(void)
{
    hook();
    __asm__ volatile("# between");
    hook();
    __asm__ volatile("# after");
}

static void same_again(unsigned n)
{
    while (n--)
        hook();
}

static void sites_in_turn(unsigned n)
{
    for (n /= 2; n > 0; n--)
        two_sites();
}

static void leaf_in_loop(unsigned n)
{
    while (n--)
        leaf();
}

static void leaves_in_turn(unsigned n)
{
    for (n /= 2; n > 0; n--) {
        leaf();
        other_leaf();
    }
}

static void depths_in_turn(unsigned n)
{
    for (n /= 2; n > 0; n--) {
        leaf();
        deeper();
    }
}

static void nothing_remembered(unsigned n)
{
    while (n--) {
        walk.frames = walk.named = 0;
        walk.last = 0;
        hook();
    }
}

static void nothing_known(unsigned n)
{
    while (n--) {
        rb_unwind_forget();
        hook();
    }
}

static void by_yardstick(unsigned n)
{
    static struct list list;
    const uintptr_t *pcs;

    while (n--)
        yardstick(&list, 0, &pcs);
}

RB_NOINLINE static void at_depth(unsigned depth)
{
    static const struct {
        const char *what;
        void (*run)(unsigned n);
        unsigned n;
    } rows[] = {
        {"the same access again", same_again, 4000},
        {"two accesses of a function in turn", sites_in_turn, 4000},
        {"a leaf function called from a loop", leaf_in_loop, 4000},
        {"two leaf functions in turn", leaves_in_turn, 4000},
        {"a leaf, and one that calls it, in turn", depths_in_turn, 4000},
        {"nothing remembered", nothing_remembered, 1000},
        {"no rule known either", nothing_known, 100},
        {"the yardstick (_Unwind_Backtrace)", by_yardstick, 100},
    };

    if (depth > 0) {
        at_depth(depth - 1);
        __asm__ volatile("# frame");
        return;
    }
    look();
    print_message("%u frames\n", seen.real + 2); // the loop's, and the leaf's or none
    for (unsigned i = 0; i < RB_LENGTH(rows); i++) {
        double best = 1e18;
        for (int round = 0; round < 300; round++) {
            const double begin = now();
            rows[i].run(rows[i].n);
            const double each = (now() - begin) / rows[i].n;
            best = each < best ? each : best;
        }
        print_message("  %-40s %9.1f ns\n", rows[i].what, best);
    }
}

void times(void **state)
{
    (void)state;
    if (!getenv("RB_UNWIND_TIMES"))
        skip();
    at_depth(0);
    at_depth(20);
}
