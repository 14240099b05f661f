// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SHB against its definition and against all correct reorderings: on traces judged by eye; on random ones of
// all kinds of events, where it warns of exactly the events that the definition calls racy, under every kind
// of sampler; and on tiny ones, where every race of the definition is one that some reordering shows
// (docs/explanation/reordering.md). The same is checked of the first race of happens-before, which is what SHB goes
// beyond.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/oracle_predict_check.h"
#include "engine/reorderings.h"

static const struct hand_case by_hand[] = {
    CASE("two writes", 1 << 1, W(0, 0), W(1, 0)),
    CASE("mutex", 0, E(0, ACQUIRE, 0), W(0, 0), E(0, RELEASE, 0), E(1, ACQUIRE, 0), W(1, 0),
         E(1, RELEASE, 0)),
    CASE("what is read orders: of two races of happens-before the second is none", 1 << 2, W(0, 0), W(0, 1),
         R(1, 1), W(1, 0)),
    CASE("not if it was not read", 1 << 2 | 1 << 3, W(0, 0), W(0, 1), W(1, 1), W(1, 0)),
    CASE("a read still races with the write it saw", 1 << 1, W(0, 0), R(1, 0)),
    CASE("read again: nothing races with what was heard of", 1 << 1, W(0, 0), R(1, 0), R(1, 0), W(1, 0)),
    CASE("what the writer did after that write is not ordered", 1 << 2 | 1 << 3, W(0, 1), W(0, 0), R(1, 1),
         W(1, 0)),
    CASE("a read hands nothing over", 1 << 3, W(0, 0), R(0, 1), R(1, 1), W(1, 0)),
    CASE("the last write is another thread's", 1 << 2 | 1 << 3 | 1 << 4, W(0, 0), W(0, 1), W(1, 1), R(2, 1),
         W(2, 0)),
    CASE("through two reads", 1 << 2 | 1 << 4, W(0, 0), W(0, 1), R(1, 1), W(1, 2), R(2, 2), W(2, 0)),
    CASE("two stores keep their order", 0, W(0, 0), E(0, STORE, 0), E(1, STORE, 0), W(1, 0)),
    CASE("two loads have none", 1 << 3, W(0, 0), E(0, LOAD, 0), E(1, LOAD, 0), W(1, 0)),
    CASE("a load before a store", 0, W(0, 0), E(0, LOAD, 0), E(1, STORE, 0), W(1, 0)),
    CASE("two read sections have none", 1 << 5, W(0, 0), E(0, RD_ACQ, 0), E(0, RD_REL, 0), E(1, RD_ACQ, 0),
         E(1, RD_REL, 0), W(1, 0)),
    CASE("an object of two kinds keeps all order", 0, W(0, 0), E(0, LOAD, 0), E(1, ACQUIRE, 0), W(1, 0),
         E(1, RELEASE, 0)),
    CASE("fork and join", 0, W(0, 0), E(0, FORK, 1), W(1, 0), E(0, JOIN, 1), W(0, 0)),
};

static void hand(void **state)
{
    (void)state;
    predict_by_hand(by_hand, RB_LENGTH(by_hand), &rb_engine_shb, oracle_build_shb);
}

static void random_any(void **state)
{
    (void)state;
    predict_random(test_traces(5000), predict_tiny_any, &rb_engine_shb, oracle_build_shb);
    predict_random(test_traces(1000), predict_longer_any, &rb_engine_shb, oracle_build_shb);
}

static void random_sections(void **state)
{
    (void)state;
    predict_random(test_traces(5000), predict_tiny_sections, &rb_engine_shb, oracle_build_shb);
    predict_random(test_traces(300), predict_longer_sections, &rb_engine_shb, oracle_build_shb);
}

static void every_race_is_predictable(void **state)
{
    static struct reorderings all;
    static struct random_trace t;
    const uint32_t traces = test_traces(10000);
    uint32_t judged = 0, races = 0;
    struct oracle o;

    (void)state;
    for (uint64_t seed = 1; seed <= traces; seed++) {
        (seed % 2 ? predict_tiny_sections : predict_tiny_any)(&t, seed);
        if (!reorderings_open(&all, t.event, t.count))
            continue;
        judged++;
        oracle_build_shb(&o, t.event, t.count);
        for (uint32_t j = 0; j < t.count; j++)
            for (uint32_t i = 0; i < j; i++) {
                if (!oracle_unordered(&o, i, j))
                    continue;
                races++;
                if (!reorderings_predictable(&all, i, j)) {
                    fprintf(stderr, "seed %llu: no reordering shows %u and %u\n", (unsigned long long)seed, i,
                            j);
                    random_trace_print(&t, NULL, NULL);
                    fail();
                }
            }
        oracle_free(&o);
    }
    assert_true(judged > traces * 9 / 10 && races > traces / 2);
}

// R5 keeps more order than happens-before does: only for traces of locks, forks and joins.
static bool locks_only(const struct random_trace *t)
{
    for (uint32_t i = 0; i < t->count; i++)
        if (t->event[i].op >= RB_LOAD && t->event[i].op <= RB_LEAVE)
            return false;
    return oracle_disciplined(t->event, t->count);
}

static void first_race_of_happens_before(void **state)
{
    static struct reorderings all;
    static struct random_trace t;
    const uint32_t traces = test_traces(10000);
    uint32_t races = 0, not = 0;
    struct oracle o;

    (void)state;
    for (uint64_t seed = 1; seed <= traces; seed++) {
        (seed % 2 ? predict_tiny_sections : predict_tiny_any)(&t, seed);
        if (!locks_only(&t) || !reorderings_open(&all, t.event, t.count))
            continue;
        oracle_build(&o, t.event, t.count);
        bool first = true;
        for (uint32_t j = 0; j < t.count; j++) {
            bool any = false;
            for (uint32_t i = 0; i < j; i++) {
                if (!oracle_unordered(&o, i, j))
                    continue;
                const bool shown = reorderings_predictable(&all, i, j);
                any = true;
                races += first;
                not += !shown;
                if (first && !shown) {
                    fprintf(stderr, "seed %llu: no reordering shows %u and %u\n", (unsigned long long)seed, i,
                            j);
                    random_trace_print(&t, NULL, NULL);
                    fail();
                }
            }
            first &= !any;
        }
        oracle_free(&o);
    }
    // The check can tell: later ones are not all races.
    assert_true(races > traces / 20 && not > 0);
}

static void starving(void **state)
{
    (void)state;
    predict_starving(&rb_shb);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hand),
        cmocka_unit_test(starving),
        cmocka_unit_test(random_any),
        cmocka_unit_test(random_sections),
        cmocka_unit_test(every_race_is_predictable),
        cmocka_unit_test(first_race_of_happens_before),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
