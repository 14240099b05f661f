// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// WCP against its definition and against all correct reorderings: on traces judged by eye; on random ones of
// all kinds of events, where it warns of exactly the events that the definition calls racy, under every kind
// of sampler; and on tiny ones, where the first event that the definition calls racy is in a race that some
// reordering shows, or some reordering deadlocks (docs/explanation/reordering.md).
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
    CASE("sections that do not conflict could change places: happens-before misses it", 1 << 5, W(0, 0),
         E(0, ACQUIRE, 0), E(0, RELEASE, 0), E(1, ACQUIRE, 0), E(1, RELEASE, 0), W(1, 0)),
    CASE("rule (a): sections that conflict could not", 0, W(0, 0), E(0, ACQUIRE, 0), W(0, 1),
         E(0, RELEASE, 0), E(1, ACQUIRE, 0), R(1, 1), E(1, RELEASE, 0), W(1, 0)),
    CASE("rule (a): two reads do not conflict", 1 << 7, W(0, 0), E(0, ACQUIRE, 0), R(0, 1), E(0, RELEASE, 0),
         E(1, ACQUIRE, 0), R(1, 1), E(1, RELEASE, 0), W(1, 0)),
    CASE("rule (a): a read, then a write", 0, W(0, 0), E(0, ACQUIRE, 0), R(0, 1), E(0, RELEASE, 0),
         E(1, ACQUIRE, 0), W(1, 1), E(1, RELEASE, 0), W(1, 0)),
    CASE("rule (a): only from the conflicting access on", 1 << 5, W(0, 0), E(0, ACQUIRE, 0), W(0, 1),
         E(0, RELEASE, 0), E(1, ACQUIRE, 0), W(1, 0), W(1, 1), E(1, RELEASE, 0)),
    CASE("rule (a): sections of one thread do not conflict, whatever came before them", 1 << 10, W(2, 0),
         E(2, ACQUIRE, 1), E(2, RELEASE, 1), E(0, ACQUIRE, 1), E(0, RELEASE, 1), E(0, ACQUIRE, 0), W(0, 1),
         E(0, RELEASE, 0), E(0, ACQUIRE, 0), W(0, 1), W(0, 0), E(0, RELEASE, 0)),
    CASE("rule (b)", 0, E(0, ACQUIRE, 0), E(0, ACQUIRE, 1), W(0, 1), E(0, RELEASE, 1), E(1, ACQUIRE, 1),
         R(1, 1), E(1, RELEASE, 1), W(0, 0), E(0, RELEASE, 0), E(1, ACQUIRE, 0), E(1, RELEASE, 0), W(1, 0)),
    CASE("rule (b) speaks of the release, not of what is in the section", 1 << 14, E(0, ACQUIRE, 0),
         E(0, ACQUIRE, 1), W(0, 1), E(0, RELEASE, 1), E(1, ACQUIRE, 1), R(1, 1), E(1, RELEASE, 1), W(2, 0),
         E(2, ACQUIRE, 2), E(2, RELEASE, 2), E(0, ACQUIRE, 2), E(0, RELEASE, 2), E(0, RELEASE, 0),
         E(1, ACQUIRE, 0), W(1, 0), E(1, RELEASE, 0), W(1, 0)),
    CASE("what precedes comes before all that happens after", 0, W(0, 0), E(0, ACQUIRE, 0), W(0, 1),
         E(0, RELEASE, 0), E(1, ACQUIRE, 0), W(1, 1), E(1, RELEASE, 0), E(1, ACQUIRE, 1), E(1, RELEASE, 1),
         E(2, ACQUIRE, 1), W(2, 0), E(2, RELEASE, 1)),
    CASE("read sections do not exclude each other", 1 << 7, W(0, 0), E(0, RD_ACQ, 0), R(0, 1),
         E(0, RD_REL, 0), E(1, RD_ACQ, 0), R(1, 1), E(1, RD_REL, 0), W(1, 0)),
    CASE("a read section, then a write section that conflicts", 0, W(0, 0), E(0, RD_ACQ, 0), R(0, 1),
         E(0, RD_REL, 0), E(1, ACQUIRE, 0), W(1, 1), E(1, RELEASE, 0), W(1, 0)),
    CASE("a read section, then one that does not", 1 << 6, W(0, 0), E(0, RD_ACQ, 0), E(0, RD_REL, 0),
         E(1, ACQUIRE, 0), W(1, 1), E(1, RELEASE, 0), W(1, 0)),
    CASE("a write section, then a read section that conflicts", 0, W(0, 0), E(0, ACQUIRE, 0), W(0, 1),
         E(0, RELEASE, 0), E(1, RD_ACQ, 0), R(1, 1), E(1, RD_REL, 0), W(1, 0)),
    CASE("inner acquires begin no section", 1 << 9, W(0, 0), E(0, ACQUIRE, 0), E(0, ACQUIRE, 0),
         E(0, RELEASE, 0), E(0, RELEASE, 0), E(1, ACQUIRE, 0), E(1, ACQUIRE, 0), E(1, RELEASE, 0),
         E(1, RELEASE, 0), W(1, 0)),
    CASE("a section ends with its outermost release", 0, E(0, ACQUIRE, 0), E(0, ACQUIRE, 0), W(0, 1),
         E(0, RELEASE, 0), W(0, 0), E(0, RELEASE, 0), E(1, ACQUIRE, 0), R(1, 1), E(1, RELEASE, 0), W(1, 0)),
    CASE("rule (b): what is learnt of one read section lets another one through", 0, E(1, RD_ACQ, 0),
         E(1, ACQUIRE, 1), E(1, RELEASE, 1), E(2, RD_ACQ, 0), E(2, ACQUIRE, 2), W(2, 1), E(2, RELEASE, 2),
         E(2, ACQUIRE, 1), E(2, RELEASE, 1), E(0, ACQUIRE, 2), R(0, 1), E(0, RELEASE, 2), W(1, 0),
         E(1, RD_REL, 0), E(2, RD_REL, 0), E(0, ACQUIRE, 0), E(0, RELEASE, 0), W(0, 0)),
    CASE("rule (b): what is forked within a section", 0, E(0, ACQUIRE, 0), E(0, FORK, 1), W(0, 0),
         E(0, RELEASE, 0), E(1, ACQUIRE, 0), E(1, RELEASE, 0), W(1, 0)),
    CASE("a fork hands on no order that sections could turn", 1 << 6, W(0, 0), E(0, ACQUIRE, 0),
         E(0, RELEASE, 0), E(1, ACQUIRE, 0), E(1, RELEASE, 0), E(1, FORK, 2), W(2, 0)),
    CASE("nor does a semaphore", 1 << 7, W(0, 0), E(0, ACQUIRE, 0), E(0, RELEASE, 0), E(1, ACQUIRE, 0),
         E(1, RELEASE, 0), E(1, POST, 1), E(2, WAIT, 1), W(2, 0)),
    CASE("but all that precedes", 0, W(0, 0), E(0, ACQUIRE, 0), W(0, 1), E(0, RELEASE, 0), E(1, ACQUIRE, 0),
         W(1, 1), E(1, RELEASE, 0), E(1, FORK, 2), W(2, 0)),
    CASE("and on through a lock", 0, W(0, 0), E(0, ACQUIRE, 0), W(0, 1), E(0, RELEASE, 0), E(1, ACQUIRE, 0),
         W(1, 1), E(1, RELEASE, 0), E(1, FORK, 2), E(2, ACQUIRE, 1), E(2, RELEASE, 1), E(3, ACQUIRE, 1),
         W(3, 0)),
    CASE("and on through a lock, from a semaphore", 0, W(0, 0), E(0, ACQUIRE, 0), W(0, 1), E(0, RELEASE, 0),
         E(1, ACQUIRE, 0), W(1, 1), E(1, RELEASE, 0), E(1, POST, 2), E(2, WAIT, 2), E(2, ACQUIRE, 1),
         E(2, RELEASE, 1), E(3, ACQUIRE, 1), W(3, 0)),
    CASE("rule (a) after a fork", 0, W(0, 0), E(0, FORK, 1), E(1, ACQUIRE, 0), W(1, 1), E(1, RELEASE, 0),
         E(2, ACQUIRE, 0), R(2, 1), E(2, RELEASE, 0), W(2, 0)),
    CASE("rule (a) after a semaphore", 0, W(3, 0), E(3, POST, 2), E(0, WAIT, 2), E(0, POST, 1), E(1, WAIT, 1),
         E(1, ACQUIRE, 0), W(1, 1), E(1, RELEASE, 0), E(2, ACQUIRE, 0), R(2, 1), E(2, RELEASE, 0), W(2, 0)),
    CASE("rule (a) after a fork by a thread that was forked", 0, W(3, 0), E(3, FORK, 0), E(0, FORK, 1),
         E(1, ACQUIRE, 0), W(1, 1), E(1, RELEASE, 0), E(2, ACQUIRE, 0), R(2, 1), E(2, RELEASE, 0), W(2, 0)),
    CASE("rule (b): a thread passes over its own sections", 0, E(1, ACQUIRE, 0), E(1, RELEASE, 0),
         E(0, ACQUIRE, 0), E(0, ACQUIRE, 1), W(0, 1), E(0, RELEASE, 1), E(1, ACQUIRE, 1), R(1, 1),
         E(1, RELEASE, 1), W(0, 0), E(0, RELEASE, 0), E(1, ACQUIRE, 0), E(1, RELEASE, 0), W(1, 0)),
    CASE("rule (b): no more than program order says, where it says it of the whole section", 1 << 9, W(0, 0),
         E(0, ACQUIRE, 0), E(0, RELEASE, 0), E(2, ACQUIRE, 0), E(2, RELEASE, 0), E(2, POST, 1), E(1, WAIT, 1),
         E(1, ACQUIRE, 0), E(1, RELEASE, 0), W(1, 0)),
    CASE("rule (b): a post within a section, behind one that is not before", 0, W(0, 0), E(0, ACQUIRE, 0),
         E(0, RELEASE, 0), E(2, ACQUIRE, 0), E(2, POST, 1), W(2, 1), E(2, RELEASE, 0), E(1, WAIT, 1),
         E(1, ACQUIRE, 0), E(1, RELEASE, 0), W(1, 0), W(1, 1)),
    CASE("rule (b): the same where that section is the first in the queue", 1 << 11, W(0, 0),
         E(0, ACQUIRE, 2), E(0, RELEASE, 2), E(2, ACQUIRE, 2), E(2, RELEASE, 2), E(2, ACQUIRE, 0),
         E(2, RELEASE, 0), E(2, POST, 1), E(1, WAIT, 1), E(1, ACQUIRE, 0), E(1, RELEASE, 0), W(1, 0)),
    CASE("rule (b): a fork within a section, behind one that is not before", 0, W(0, 0), E(0, ACQUIRE, 0),
         E(0, RELEASE, 0), E(2, ACQUIRE, 0), E(2, FORK, 1), E(2, RELEASE, 0), E(1, ACQUIRE, 0),
         E(1, RELEASE, 0), W(1, 0)),
    CASE("rule (b): a fork just before the section ends", 0, W(2, 0), E(2, ACQUIRE, 1), E(2, RELEASE, 1),
         E(0, ACQUIRE, 1), E(0, RELEASE, 1), E(0, ACQUIRE, 0), E(0, FORK, 1), E(0, RELEASE, 0),
         E(1, ACQUIRE, 0), E(1, RELEASE, 0), W(1, 0)),
    CASE("rule (b): not for a section that begins just after what was heard of", 1 << 11, E(0, ACQUIRE, 1),
         W(0, 1), E(0, RELEASE, 1), E(0, ACQUIRE, 0), W(0, 0), E(0, RELEASE, 0), E(1, ACQUIRE, 1), R(1, 1),
         E(1, RELEASE, 1), E(1, ACQUIRE, 0), E(1, RELEASE, 0), W(1, 0)),
    CASE("rule (b): program order leads out of a section that has not ended, and came into it", 0,
         E(0, ACQUIRE, 0), E(0, STORE, 1), R(0, 0), E(0, RELEASE, 0), E(1, ACQUIRE, 0), E(1, LOAD, 1),
         E(2, STORE, 1), W(2, 0)),
    CASE("rule (b): the same by rule (a)", 0, E(0, ACQUIRE, 0), E(0, ACQUIRE, 1), W(0, 1), E(0, RELEASE, 1),
         W(0, 0), E(0, RELEASE, 0), E(1, ACQUIRE, 0), E(1, ACQUIRE, 1), R(1, 1), E(1, RELEASE, 1),
         E(1, POST, 2), E(2, WAIT, 2), W(2, 0)),
    CASE("rule (b): the same by a fork, or a join of who never ends it", 0, E(0, ACQUIRE, 0),
         E(0, ACQUIRE, 1), W(0, 1), E(0, RELEASE, 1), W(0, 0), W(0, 2), E(0, RELEASE, 0), E(1, ACQUIRE, 0),
         E(1, ACQUIRE, 1), R(1, 1), E(1, RELEASE, 1), E(1, FORK, 2), W(2, 0), E(3, JOIN, 1), W(3, 2)),
    CASE("rule (b): not where nothing in the sections is ordered", 1 << 6, E(0, ACQUIRE, 0), W(0, 0),
         E(0, RELEASE, 0), E(1, ACQUIRE, 0), E(1, POST, 2), E(2, WAIT, 2), W(2, 0)),
    CASE("a semaphore is no section", 0, W(0, 0), E(0, POST, 0), E(1, WAIT, 0), W(1, 0)),
    CASE("a lock that is misused keeps all order", 0, W(0, 0), E(0, ACQUIRE, 0), E(0, RELEASE, 0),
         E(0, RELEASE, 0), E(1, ACQUIRE, 0), E(1, RELEASE, 0), W(1, 0)),
    CASE("fork and join", 0, W(0, 0), E(0, FORK, 1), W(1, 0), E(0, JOIN, 1), W(0, 0)),
};

static void hand(void **state)
{
    (void)state;
    predict_by_hand(by_hand, RB_LENGTH(by_hand), &rb_engine_wcp, oracle_build_wcp);
}

// Rule (b) for the first of many sections: T1 has heard of nothing later, and comes after the queue was full.
static void late_comer(void **state)
{
    static const struct rb_event begin[] = {E(0, ACQUIRE, 0), E(0, ACQUIRE, 1), W(0, 1),
                                            E(0, RELEASE, 1), E(1, ACQUIRE, 1), R(1, 1),
                                            E(1, RELEASE, 1), W(0, 0),          E(0, RELEASE, 0)},
                                 end[] = {E(1, ACQUIRE, 0), E(1, RELEASE, 0), W(1, 0)};
    static struct rb_event e[RB_LENGTH(begin) + 100 + RB_LENGTH(end)];
    uint32_t n = 0;

    (void)state;
    for (size_t i = 0; i < RB_LENGTH(begin); i++)
        e[n++] = begin[i];
    for (uint32_t i = 0; i < 50; i++) {
        e[n++] = (struct rb_event)E(i % 2 ? 2 : 0, ACQUIRE, 0);
        e[n++] = (struct rb_event)E(i % 2 ? 2 : 0, RELEASE, 0);
    }
    for (size_t i = 0; i < RB_LENGTH(end); i++)
        e[n++] = end[i];
    const struct hand_case late = {"late comer", 0, e, n};
    predict_by_hand(&late, 1, &rb_engine_wcp, oracle_build_wcp);
}

static void random_any(void **state)
{
    (void)state;
    predict_random(test_traces(5000), predict_tiny_any, &rb_engine_wcp, oracle_build_wcp);
    predict_random(test_traces(1000), predict_longer_any, &rb_engine_wcp, oracle_build_wcp);
}

static void random_sections(void **state)
{
    (void)state;
    predict_random(test_traces(10000), predict_tiny_sections, &rb_engine_wcp, oracle_build_wcp);
    predict_random(test_traces(300), predict_longer_sections, &rb_engine_wcp, oracle_build_wcp);
}

static void first_race_is_predictable_or_a_deadlock_is(void **state)
{
    static struct reorderings all;
    static struct random_trace t;
    const uint32_t traces = test_traces(10000);
    uint32_t races = 0, beyond = 0;
    struct oracle o, hb;

    (void)state;
    for (uint64_t seed = 1; seed <= traces; seed++) {
        bool racy = false, shown = false;
        uint32_t j = 0;
        (seed % 2 ? predict_tiny_sections : predict_tiny_any)(&t, seed);
        if (!reorderings_open(&all, t.event, t.count))
            continue;
        oracle_build_wcp(&o, t.event, t.count);
        oracle_build(&hb, t.event, t.count);
        for (; j < t.count && !racy; j++)
            for (uint32_t i = 0; i < j; i++) {
                if (!oracle_unordered(&o, i, j))
                    continue;
                racy = true;
                shown |= reorderings_predictable(&all, i, j);
                beyond += !oracle_unordered(&hb, i, j);
            }
        races += racy;
        if (racy && !shown && !reorderings_deadlock(&all)) {
            fprintf(stderr, "seed %llu: no reordering shows a race with %u\n", (unsigned long long)seed,
                    j - 1);
            random_trace_print(&t, NULL, NULL);
            fail();
        }
        oracle_free(&o);
        oracle_free(&hb);
    }
    assert_true(races > traces / 4 &&
                beyond > traces / 200); // races, and some that happens-before does not see
}

static void starving(void **state)
{
    (void)state;
    predict_starving(&rb_wcp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hand),
        cmocka_unit_test(late_comer),
        cmocka_unit_test(starving),
        cmocka_unit_test(random_any),
        cmocka_unit_test(random_sections),
        cmocka_unit_test(first_race_is_predictable_or_a_deadlock_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
