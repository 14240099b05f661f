// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The judge is judged: traces whose answers are known by hand, and on tiny random traces the search through
// states against every sequence of events there is, each held against the rules one by one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/hand_trace.h"
#include "engine/random_trace.h"
#include "engine/reorderings.h"
#include "engine/reorderings_locks.h"

enum verdict { NO_RACE, REVERSING, PRESERVING }; // no race; one if sections change places; one without that

#define PAIR_CASE(what, i, j, verdict, ...)                                                           \
    {                                                                                                 \
        what, i, j, verdict, TRACE(__VA_ARGS__), sizeof(TRACE(__VA_ARGS__)) / sizeof(struct rb_event) \
    }

static const struct pair_case {
    const char *what;
    uint32_t first, second;
    enum verdict verdict;
    const struct rb_event *event;
    uint32_t count;
} by_hand[] = {
    PAIR_CASE("two writes", 0, 1, PRESERVING, W(0, 0), W(1, 0)),
    PAIR_CASE("two reads", 0, 1, NO_RACE, R(0, 0), R(1, 0)),
    PAIR_CASE("one thread", 0, 1, NO_RACE, W(0, 0), W(0, 0)),
    PAIR_CASE("a read and the write it sees", 0, 1, PRESERVING, W(0, 0), R(1, 0)),
    PAIR_CASE("one lock around both", 1, 4, NO_RACE, ACQ(0, 0), W(0, 0), REL(0, 0), ACQ(1, 0), W(1, 0),
              REL(1, 0)),
    PAIR_CASE("before one section, after the other", 0, 5, PRESERVING, W(0, 0), ACQ(0, 0), REL(0, 0),
              ACQ(1, 0), REL(1, 0), W(1, 0)),
    PAIR_CASE("after both sections", 2, 5, PRESERVING, ACQ(0, 0), REL(0, 0), W(0, 0), ACQ(1, 0), REL(1, 0),
              W(1, 0)),
    PAIR_CASE("in the earlier section, after the later", 1, 5, REVERSING, ACQ(0, 0), W(0, 0), REL(0, 0),
              ACQ(1, 0), REL(1, 0), W(1, 0)),
    PAIR_CASE("the same, and the later section reads what the earlier wrote", 1, 7, NO_RACE, ACQ(0, 0),
              W(0, 0), W(0, 1), REL(0, 0), ACQ(1, 0), R(1, 1), REL(1, 0), W(1, 0)),
    PAIR_CASE("what is read comes along with all before it", 0, 3, NO_RACE, W(0, 0), W(0, 1), R(1, 1),
              W(1, 0)),
    PAIR_CASE("the same through a third thread", 0, 5, NO_RACE, W(0, 0), W(0, 1), R(1, 1), W(1, 2), R(2, 2),
              W(2, 0)),
    PAIR_CASE("two ways to one set of events, and only one leaves the write to be read", 6, 7, PRESERVING,
              E(0, ENTER, 0), W(1, 1), W(1, 2), W(0, 1), R(2, 2), R(2, 1), W(2, 0), W(1, 0)),
    PAIR_CASE("a read that saw nothing keeps the write out", 1, 3, PRESERVING, R(0, 1), W(0, 0), W(1, 1),
              W(1, 0)),
    PAIR_CASE("read sections do not exclude", 1, 4, PRESERVING, E(0, RD_ACQ, 0), W(0, 0), E(0, RD_REL, 0),
              E(1, RD_ACQ, 0), W(1, 0), E(1, RD_REL, 0)),
    PAIR_CASE("a read section and a write section do", 1, 4, NO_RACE, E(0, RD_ACQ, 0), W(0, 0),
              E(0, RD_REL, 0), ACQ(1, 0), W(1, 0), REL(1, 0)),
    PAIR_CASE("a write section and a read section do", 1, 4, NO_RACE, ACQ(0, 0), W(0, 0), REL(0, 0),
              E(1, RD_ACQ, 0), W(1, 0), E(1, RD_REL, 0)),
    PAIR_CASE("in a read section, after a later read section", 1, 5, PRESERVING, E(0, RD_ACQ, 0), W(0, 0),
              E(0, RD_REL, 0), E(1, RD_ACQ, 0), E(1, RD_REL, 0), W(1, 0)),
    PAIR_CASE("in a read section, after a later write section", 1, 5, REVERSING, E(0, RD_ACQ, 0), W(0, 0),
              E(0, RD_REL, 0), ACQ(1, 0), REL(1, 0), W(1, 0)),
    PAIR_CASE("an inner release ends nothing", 3, 6, NO_RACE, ACQ(0, 0), ACQ(0, 0), REL(0, 0), W(0, 0),
              REL(0, 0), ACQ(1, 0), W(1, 0), REL(1, 0)),
    PAIR_CASE("fork", 0, 2, NO_RACE, W(0, 0), E(0, FORK, 1), W(1, 0)),
    PAIR_CASE("after the fork", 1, 2, PRESERVING, E(0, FORK, 1), W(0, 0), W(1, 0)),
    PAIR_CASE("join", 0, 2, NO_RACE, W(1, 0), E(0, JOIN, 1), W(0, 0)),
    PAIR_CASE("join of a thread with no event", 0, 3, NO_RACE, W(0, 0), E(0, FORK, 1), E(2, JOIN, 1),
              W(2, 0)),
    PAIR_CASE("store to load", 0, 3, NO_RACE, W(0, 0), E(0, STORE, 0), E(1, LOAD, 0), W(1, 0)),
    PAIR_CASE("load to store", 0, 3, NO_RACE, W(0, 0), E(0, LOAD, 0), E(1, STORE, 0), W(1, 0)),
    PAIR_CASE("load and load", 0, 3, PRESERVING, W(0, 0), E(0, LOAD, 0), E(1, LOAD, 0), W(1, 0)),
    PAIR_CASE("two posts", 0, 3, NO_RACE, W(0, 0), E(0, POST, 0), E(1, POST, 0), W(1, 0)),
    PAIR_CASE("an object that is a lock and more", 0, 3, NO_RACE, W(0, 0), ACQ(0, 0), E(1, LOAD, 0), W(1, 0)),
    PAIR_CASE("a lock that another releases", 0, 3, NO_RACE, W(0, 0), ACQ(0, 0), REL(1, 0), W(1, 0)),
    PAIR_CASE("a lock taken both ways at once", 0, 5, NO_RACE, W(0, 0), E(0, RD_ACQ, 0), ACQ(0, 0), REL(0, 0),
              E(1, RD_ACQ, 0), W(1, 0)),
    PAIR_CASE("a section that never closes", 2, 3, PRESERVING, ACQ(0, 0), E(0, ENTER, 0), W(0, 0), W(1, 0)),
    PAIR_CASE("a section that never closes keeps others out", 1, 4, NO_RACE, ACQ(1, 0), W(1, 0), REL(1, 0),
              ACQ(0, 0), W(0, 0)),
};

static void hand(void **state)
{
    static struct reorderings r;

    (void)state;
    for (size_t c = 0; c < RB_LENGTH(by_hand); c++) {
        const struct pair_case *h = &by_hand[c];
        assert_true(reorderings_open(&r, h->event, h->count));
        const bool some = reorderings_predictable(&r, h->first, h->second);
        const bool preserving = reorderings_sync_preserving(&r, h->first, h->second);
        if (some != (h->verdict != NO_RACE) || preserving != (h->verdict == PRESERVING)) {
            print_error("%s: predictable %d, preserving %d\n", h->what, some, preserving);
            fail();
        }
        assert_int_equal(reorderings_predictable(&r, h->second, h->first), some);
    }
}

static bool deadlocks(const struct rb_event *event, uint32_t count)
{
    static struct reorderings r;

    assert_true(reorderings_open(&r, event, count));
    return reorderings_deadlock(&r);
}

#define DEADLOCKS(...) deadlocks(TRACE(__VA_ARGS__), sizeof(TRACE(__VA_ARGS__)) / sizeof(struct rb_event))

static void deadlock(void **state)
{
    (void)state;
    assert_true(
        DEADLOCKS(ACQ(0, 0), ACQ(0, 1), REL(0, 1), REL(0, 0), ACQ(1, 1), ACQ(1, 0), REL(1, 0), REL(1, 1)));
    assert_false(
        DEADLOCKS(ACQ(0, 0), ACQ(0, 1), REL(0, 1), REL(0, 0), ACQ(1, 0), ACQ(1, 1), REL(1, 1), REL(1, 0)));
    // Three threads in a circle.
    assert_true(DEADLOCKS(ACQ(0, 0), ACQ(0, 1), REL(0, 1), REL(0, 0), ACQ(1, 1), ACQ(1, 2), REL(1, 2),
                          REL(1, 1), ACQ(2, 2), ACQ(2, 0), REL(2, 0), REL(2, 2)));
    // A gate around both, and a fork between them, keep them apart.
    assert_false(DEADLOCKS(ACQ(0, 9), ACQ(0, 0), ACQ(0, 1), REL(0, 1), REL(0, 0), REL(0, 9), ACQ(1, 9),
                           ACQ(1, 1), ACQ(1, 0), REL(1, 0), REL(1, 1), REL(1, 9)));
    assert_false(DEADLOCKS(ACQ(0, 0), ACQ(0, 1), REL(0, 1), REL(0, 0), E(0, FORK, 1), ACQ(1, 1), ACQ(1, 0)));
    // Readers block writers, not readers.
    assert_true(DEADLOCKS(E(0, RD_ACQ, 0), ACQ(0, 1), REL(0, 1), E(0, RD_REL, 0), ACQ(1, 1), ACQ(1, 0),
                          REL(1, 0), REL(1, 1)));
    assert_false(DEADLOCKS(E(0, RD_ACQ, 0), ACQ(0, 1), REL(0, 1), E(0, RD_REL, 0), ACQ(1, 1), E(1, RD_ACQ, 0),
                           E(1, RD_REL, 0), REL(1, 1)));
}

static void correct(void **state)
{
    static struct reorderings r;
    // 0:acq 1:w y 2:rel | 3:acq 4:rel 5:r y
    const struct rb_event trace[] = {ACQ(0, 0), W(0, 1), REL(0, 0), ACQ(1, 0), REL(1, 0), R(1, 1)};
    static const struct {
        bool correct;
        uint32_t n, order[6];
    } cases[] = {
        {true, 6, {0, 1, 2, 3, 4, 5}},
        {true, 6, {3, 4, 0, 1, 2, 5}},
        {true, 5, {3, 4, 0, 1, 5}},
        {true, 0, {0}},
        {true, 2, {0, 1}},
        {false, 1, {1}}, // R1
        {false, 2, {0, 0}},
        {false, 3, {3, 4, 5}},
        {false, 4, {0, 1, 3, 2}}, // twice, R2, R3
        {false, 2, {0, 3}},
        {false, 3, {3, 0, 4}},
        {false, 1, {6}},
    };

    (void)state;
    assert_true(reorderings_open(&r, trace, RB_LENGTH(trace)));
    for (size_t c = 0; c < RB_LENGTH(cases); c++)
        if (reorderings_correct(&r, cases[c].order, cases[c].n) != cases[c].correct) {
            print_error("sequence %zu\n", c);
            fail();
        }
}

// ---- every sequence ------------------------------------------------------------------------------------

struct sequences {
    const struct reorderings *r;
    uint32_t order[REORDERINGS_EVENTS], n;
    uint64_t together[2][REORDERINGS_EVENTS];
    uint64_t tried;
};

static bool sections_in_order(const struct sequences *s)
{
    for (uint32_t a = 0; a < s->n; a++)
        for (uint32_t b = a + 1; b < s->n; b++) {
            const struct reorderings_event *x = &s->r->about[s->order[a]], *y = &s->r->about[s->order[b]];
            if (x->lock != REORDERINGS_NONE && x->lock == y->lock && s->order[a] > s->order[b] &&
                !(x->read_section && y->read_section))
                return false;
        }
    return true;
}

static void try_all(struct sequences *s)
{
    uint64_t done = 0, next = 0;

    s->tried++;
    for (uint32_t k = 0; k < s->n; k++)
        done |= UINT64_C(1) << s->order[k];
    for (uint32_t i = 0; i < s->r->count; i++)
        if (!(done >> i & 1) && !(s->r->about[i].needs & ~done))
            next |= UINT64_C(1) << i;
    for (uint32_t i = 0; i < s->r->count; i++)
        if (next >> i & 1) {
            s->together[0][i] |= next;
            if (sections_in_order(s))
                s->together[1][i] |= next;
        }
    for (uint32_t i = 0; i < s->r->count; i++) {
        s->order[s->n++] = i;
        if (reorderings_correct(s->r, s->order, s->n))
            try_all(s);
        s->n--;
    }
}

static void every_sequence(void **state)
{
    static const struct random_shape tiny = {.events_min = 3,
                                             .events_max = 7,
                                             .threads_min = 2,
                                             .threads_max = 4};
    static struct random_trace t;
    static struct reorderings r;
    static struct sequences s;
    uint32_t judged = 0, races[2] = {0};
    uint64_t tried = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 6000; seed++) {
        if (seed % 2) {
            random_trace_make(&t, seed, &tiny);
        } else {
            t.count = 7 + (uint32_t)(seed / 2 % 3);
            reorderings_random_locks(t.event, t.count, seed);
        }
        if (t.count > 9 || !reorderings_open(&r, t.event, t.count))
            continue;
        s = (struct sequences){.r = &r};
        try_all(&s);
        judged++;
        tried += s.tried;
        for (uint32_t i = 0; i < t.count; i++)
            for (uint32_t j = 0; j < i; j++) {
                const bool conflict = t.event[i].thread != t.event[j].thread &&
                                      t.event[i].target == t.event[j].target && t.event[i].op <= RB_WRITE &&
                                      t.event[j].op <= RB_WRITE &&
                                      (t.event[i].op == RB_WRITE || t.event[j].op == RB_WRITE);
                const bool some = conflict && s.together[0][i] >> j & 1;
                const bool preserving = conflict && s.together[1][i] >> j & 1;
                races[0] += some;
                races[1] += preserving;
                if (some != reorderings_predictable(&r, i, j) ||
                    preserving != reorderings_sync_preserving(&r, i, j)) {
                    print_error("seed %llu, events %u and %u\n", (unsigned long long)seed, j, i);
                    random_trace_print(&t, NULL, NULL);
                    fail();
                }
            }
    }
    print_message("%u traces, %llu sequences, races %u, preserving %u\n", judged, (unsigned long long)tried,
                  races[0], races[1]);
    assert_true(judged > 2000 && races[1] > 500 && races[0] > races[1]);
}

static void too_large(void **state)
{
    static struct rb_event many[REORDERINGS_EVENTS + 1];
    static struct reorderings r;

    (void)state;
    assert_false(reorderings_open(&r, many, REORDERINGS_EVENTS + 1));
    assert_true(reorderings_open(&r, many, REORDERINGS_EVENTS));
    for (uint32_t i = 0; i < REORDERINGS_EVENTS; i++)
        many[i].thread = i % (REORDERINGS_THREADS + 1);
    assert_false(reorderings_open(&r, many, REORDERINGS_EVENTS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hand),           cmocka_unit_test(deadlock),  cmocka_unit_test(correct),
        cmocka_unit_test(every_sequence), cmocka_unit_test(too_large),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
