// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Making traces small: against properties whose smallest answer is known, and against the definition of "no
// single unit can go" on properties that are not monotone. What the eval command shrinks for is tested in
// cli/test_eval.sh.
#define _GNU_SOURCE 1
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "lab/eval/shrink.h"

#define MOST 600

struct trace {
    struct rb_event event[MOST];
    uint32_t count;
};

static uint32_t put(struct trace *t, uint32_t thread, enum rb_op op, uint64_t target)
{
    assert_true(t->count < MOST);
    t->event[t->count] = (struct rb_event){.thread = thread, .op = op, .target = target};
    return t->count++;
}

// A few threads that lock, call and access at random; locks and calls nest and are closed at the end or not
// at all.
static void make_random(struct trace *t, struct rb_rng *r, uint32_t threads, uint32_t events)
{
    uint64_t held[8][4] = {{0}}; // thread, lock: taken
    uint32_t depth[8] = {0};

    t->count = 0;
    for (uint32_t i = 1; i < threads; i++)
        put(t, 0, RB_FORK, i);
    while (t->count < events) {
        const uint32_t thread = (uint32_t)rb_rng_below(r, threads);
        const uint64_t lock = rb_rng_below(r, 4);
        switch (rb_rng_below(r, 6)) {
        case 0:
            if (!held[0][lock] && !held[1][lock] && !held[2][lock] && !held[3][lock] && !held[4][lock]) {
                held[thread][lock] = 1;
                put(t, thread, RB_ACQUIRE, lock);
            }
            break;
        case 1:
            if (held[thread][lock]) {
                held[thread][lock] = 0;
                put(t, thread, RB_RELEASE, lock);
            }
            break;
        case 2:
            depth[thread]++;
            put(t, thread, RB_ENTER, rb_rng_below(r, 3));
            break;
        case 3:
            if (depth[thread]) {
                depth[thread]--;
                put(t, thread, RB_EXIT, 0);
            }
            break;
        case 4:
            put(t, thread, RB_READ, rb_rng_below(r, 5));
            break;
        default:
            put(t, thread, RB_WRITE, rb_rng_below(r, 5));
        }
    }
    for (uint32_t i = 1; i < threads; i++)
        put(t, 0, RB_JOIN, i);
}

// ---- properties ----------------------------------------------------------------------------------------

struct property {
    const struct trace *t;
    bool needed[MOST];
    uint32_t at_least; // of `counted` must be there
    bool counted[MOST];
    uint32_t odd; // the number of kept events of thread 1 is odd (1), even (2), or does not matter (0)
    uint32_t needs[MOST]; // if event i is there, event needs[i] - 1 must be
    bool whole_threads;   // a thread has all its events, fork and join, or none
    uint32_t calls, fail_at;
};

// Of thread t, with its fork and join: all there, or none?
static bool is_whole(const struct trace *t, const bool *kept, uint32_t thread)
{
    uint32_t there = 0, all = 0;

    for (uint32_t i = 0; i < t->count; i++) {
        const struct rb_event *e = &t->event[i];
        if (e->op == RB_FORK || e->op == RB_JOIN ? e->target == thread : e->thread == thread) {
            there += kept[i];
            all++;
        }
    }
    return there == 0 || there == all;
}

static bool is_true(const struct property *p, const bool *kept)
{
    uint32_t there = 0, of_one = 0;

    for (uint32_t i = 0; i < p->t->count; i++)
        if (p->needs[i] && kept[i] && !kept[p->needs[i] - 1])
            return false;
    for (uint32_t t = 1; p->whole_threads && t <= 100; t++)
        if (!is_whole(p->t, kept, t))
            return false;

    for (uint32_t i = 0; i < p->t->count; i++) {
        if (p->needed[i] && !kept[i])
            return false;
        there += p->counted[i] && kept[i];
        of_one += kept[i] && p->t->event[i].thread == 1;
    }
    return there >= p->at_least && (!p->odd || of_one % 2 == p->odd % 2);
}

static int holds(void *context, const bool *kept)
{
    struct property *p = context;

    if (++p->calls == p->fail_at)
        return -1234;
    return is_true(p, kept);
}

// Units, worked out again in another way: for each event, the one that opens or closes it, or itself.
static uint32_t partner(const struct trace *t, uint32_t i)
{
    const enum rb_op op = t->event[i].op;
    const bool opens = op == RB_ACQUIRE || op == RB_ENTER, closes = op == RB_RELEASE || op == RB_EXIT;
    int depth = 0;

    if (!opens && !closes)
        return i;
    for (int64_t k = i; k >= 0 && k < t->count; k += opens ? 1 : -1) {
        const struct rb_event *e = &t->event[k];
        const bool call = op == RB_ENTER || op == RB_EXIT;
        if (e->thread != t->event[i].thread ||
            (call ? e->op != RB_ENTER && e->op != RB_EXIT
                  : (e->op != RB_ACQUIRE && e->op != RB_RELEASE) || e->target != t->event[i].target))
            continue;
        depth += e->op == RB_ACQUIRE || e->op == RB_ENTER ? 1 : -1;
        if (depth == 0)
            return (uint32_t)k;
    }
    return i;
}

static void check_units(const struct trace *t, const bool *kept)
{
    for (uint32_t i = 0; i < t->count; i++)
        assert_int_equal(kept[i], kept[partner(t, i)]);
}

static uint32_t run(struct property *p, const uint32_t *pinned, uint32_t pinned_count, bool *kept,
                    bool *minimal)
{
    const struct rb_shrink s = {.events = p->t->event,
                                .count = p->t->count,
                                .pinned = pinned,
                                .pinned_count = pinned_count,
                                .holds = holds,
                                .context = p,
                                .seconds = 60};
    struct rb_shrink_outcome o;

    assert_int_equal(rb_shrink(&s, kept, &o), 0);
    assert_int_equal(o.tests, p->calls);
    *minimal = o.minimal;
    return o.kept;
}

// ---- tests ---------------------------------------------------------------------------------------------

static void needed_events_stay_and_nothing_else(void **state)
{
    struct rb_rng r;
    static struct trace t;
    static struct property p;
    bool kept[MOST], expected[MOST], minimal;

    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        rb_rng_seed(&r, seed);
        make_random(&t, &r, 2 + (uint32_t)rb_rng_below(&r, 4), 20 + (uint32_t)rb_rng_below(&r, 300));
        p = (struct property){.t = &t};
        memset(expected, false, sizeof(expected));
        const uint32_t pinned[2] = {(uint32_t)rb_rng_below(&r, t.count), (uint32_t)rb_rng_below(&r, t.count)};
        for (uint32_t i = 0; i < 2; i++)
            expected[pinned[i]] = expected[partner(&t, pinned[i])] = true;
        for (uint64_t n = rb_rng_below(&r, 6); n > 0; n--) {
            const uint32_t i = (uint32_t)rb_rng_below(&r, t.count);
            p.needed[i] = expected[i] = expected[partner(&t, i)] = true;
        }
        const uint32_t left = run(&p, pinned, 2, kept, &minimal);
        uint32_t wanted = 0;
        for (uint32_t i = 0; i < t.count; i++) {
            assert_int_equal(kept[i], expected[i]);
            wanted += expected[i];
        }
        assert_int_equal(left, wanted);
        assert_true(minimal);
    }
}

// Whatever the property, in the end it holds, units are whole, and no unit alone can go.
static void no_single_unit_can_go(void **state)
{
    struct rb_rng r;
    static struct trace t;
    static struct property p;
    bool kept[MOST], less[MOST], minimal;
    uint32_t smaller = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        rb_rng_seed(&r, seed);
        make_random(&t, &r, 2 + (uint32_t)rb_rng_below(&r, 3), 20 + (uint32_t)rb_rng_below(&r, 100));
        p = (struct property){.t = &t, .at_least = 3};
        for (uint32_t i = 0; i < 12; i++)
            p.counted[rb_rng_below(&r, t.count)] = true;
        bool all[MOST];
        memset(all, true, sizeof(all));
        for (uint32_t i = 0; i < 12;
             i++) { // what is needed while something later is there goes only after that
            const uint32_t late = 1 + (uint32_t)rb_rng_below(&r, t.count - 1);
            p.needs[late] = 1 + (uint32_t)rb_rng_below(&r, late);
        }
        p.odd = 1;
        if (!is_true(&p, all))
            p.odd = 2; // it must be true of the whole
        if (!is_true(&p, all))
            continue;
        const uint32_t left = run(&p, NULL, 0, kept, &minimal);
        assert_true(minimal);
        assert_true(is_true(&p, kept));
        check_units(&t, kept);
        for (uint32_t i = 0; i < t.count; i++) {
            if (!kept[i])
                continue;
            memcpy(less, kept, sizeof(less));
            less[i] = less[partner(&t, i)] = false;
            assert_false(is_true(&p, less));
        }
        smaller += left < t.count;
    }
    assert_true(smaller > 50);
}

// Threads that do not matter go as wholes: a hundred of them take few questions, with forks and joins.
static void threads_go_with_their_forks(void **state)
{
    static struct trace t;
    static struct property p;
    bool kept[MOST], minimal;

    (void)state;
    t.count = 0;
    for (uint32_t i = 1; i <= 100; i++)
        put(&t, 0, RB_FORK, i);
    for (uint32_t i = 1; i <= 100; i++) {
        put(&t, i, RB_WRITE, i);
        put(&t, i, RB_READ, i);
    }
    for (uint32_t i = 1; i <= 100; i++)
        put(&t, 0, RB_JOIN, i);
    p = (struct property){.t = &t};
    const uint32_t pinned[2] = {100, 102};
    assert_int_equal(run(&p, pinned, 2, kept, &minimal), 2);
    assert_true(minimal);
    assert_true(p.calls < 40);
    p = (struct property){.t = &t, .whole_threads = true};
    assert_int_equal(run(&p, pinned, 2, kept, &minimal), 8);
    assert_true(minimal);
    assert_true(p.calls < 100);
    p = (struct property){.t = &t};
    p.needed[0] = true; // the fork of thread 1, whose write is pinned
    assert_int_equal(run(&p, pinned, 2, kept, &minimal), 3);
    assert_true(kept[0] && kept[100] && kept[102]);
}

static void time_is_a_limit(void **state)
{
    static struct trace t;
    static struct property p;
    struct rb_shrink_outcome o;
    bool kept[MOST] = {false};

    (void)state;
    t.count = 0;
    for (uint32_t i = 0; i < 50; i++)
        put(&t, i % 2, RB_WRITE, i);
    p = (struct property){.t = &t};
    const struct rb_shrink s = {
        .events = t.event, .count = t.count, .holds = holds, .context = &p, .seconds = -1};
    assert_int_equal(rb_shrink(&s, kept, &o), 0);
    assert_int_equal(o.kept, 50);
    assert_false(o.minimal);
    assert_int_equal(p.calls, 0);
    for (uint32_t i = 0; i < 50; i++)
        assert_true(kept[i]);
}

// A failure ends it, and what is left is still something of which it holds.
static void failures_come_back(void **state)
{
    struct rb_rng r;
    static struct trace t;
    static struct property p;
    struct rb_shrink_outcome o;
    bool kept[MOST];

    (void)state;
    rb_rng_seed(&r, 5);
    make_random(&t, &r, 3, 200);
    for (uint32_t fail_at = 1; fail_at < 30; fail_at++) {
        p = (struct property){.t = &t, .fail_at = fail_at};
        for (uint32_t i = 0; i < t.count; i += 17)
            p.needed[i] = true;
        const struct rb_shrink s = {
            .events = t.event, .count = t.count, .holds = holds, .context = &p, .seconds = 60};
        assert_int_equal(rb_shrink(&s, kept, &o), -1234);
        assert_int_equal(p.calls, fail_at);
        assert_false(o.minimal);
        assert_true(is_true(&p, kept));
        check_units(&t, kept);
    }
}

static void nothing_to_shrink(void **state)
{
    static struct trace t;
    static struct property p;
    bool kept[1], minimal;

    (void)state;
    t.count = 0;
    p = (struct property){.t = &t};
    assert_int_equal(run(&p, NULL, 0, kept, &minimal), 0);
    assert_true(minimal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(needed_events_stay_and_nothing_else),
        cmocka_unit_test(no_single_unit_can_go),
        cmocka_unit_test(threads_go_with_their_forks),
        cmocka_unit_test(time_is_a_limit),
        cmocka_unit_test(failures_come_back),
        cmocka_unit_test(nothing_to_shrink),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
