// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The main property of the project: on the same trace and the same S, djit, st, su and so warn of exactly the
// same events, and they are those of the oracle; fasttrack finds the same racy variables and the first
// warning of each. Shown first on traces small enough to judge by eye, then on many random ones, under every
// sampler. That these checks notice a wrong engine is test_mutants.c.
//
// RB_TEST_TRACES sets the number of random traces of the main test (default 5,000).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/hand_trace.h"
#include "engine/oracle_check.h"

// Every trace is run under the first few, and under every other one of the rest.
static const char *const samplers[] = {"all",         "random:0.3",  "literace",  "pacer:0.4,5",
                                       "none",        "random:0.05", "tl-fx",     "g-ad",
                                       "g-fx",        "ucp",         "rnd10",     "rnd25",
                                       "pacer:0.5,1", "static:0.5",  "rpt:1,0.5", "rpt:0.1,0.5"};
#define ALWAYS 4u

static void must_hold(const char *wrong, uint64_t seed, const struct report *p, const struct subject *s,
                      const struct expected *x, const struct rb_engine_ops *engine)
{
    if (!wrong)
        return;
    fprintf(stderr, "seed %llu, ", (unsigned long long)seed);
    report_print(p, s, x, engine->name, wrong);
    fail();
}

static const char *check(const struct report *p, const struct subject *s, const struct expected *x,
                         const struct rb_engine_ops *engine)
{
    return engine == &rb_fasttrack ? report_check_first(p, s, x) : report_check_exact(p, s, x);
}

// ---- judged by eye first -------------------------------------------------------------------------------

static const struct hand_case by_hand[] = {
    CASE("two writes", 1 << 1, W(0, 0), W(1, 0)),
    CASE("two reads", 0, R(0, 0), R(1, 0)),
    CASE("other variables", 0, W(0, 0), W(1, 1)),
    CASE("every later access races, not only the next", 1 << 1 | 1 << 2 | 1 << 3, W(0, 0), R(1, 0), W(1, 0),
         R(2, 0)),
    CASE("mutex", 0, E(0, ACQUIRE, 0), W(0, 0), E(0, RELEASE, 0), E(1, ACQUIRE, 0), W(1, 0),
         E(1, RELEASE, 0)),
    CASE("another mutex", 1 << 4, E(0, ACQUIRE, 0), W(0, 0), E(0, RELEASE, 0), E(1, ACQUIRE, 1), W(1, 0),
         E(1, RELEASE, 1)),
    CASE("a write after the unlock", 1 << 5, E(0, ACQUIRE, 0), W(0, 0), E(0, RELEASE, 0), W(0, 0),
         E(1, ACQUIRE, 0), W(1, 0)),
    CASE("through a third thread", 0, W(0, 0), E(0, ACQUIRE, 0), E(0, RELEASE, 0), E(1, ACQUIRE, 0),
         E(1, RELEASE, 0), E(1, ACQUIRE, 1), E(1, RELEASE, 1), E(2, ACQUIRE, 1), R(2, 0)),
    CASE("an inner unlock publishes nothing more", 1 << 6, E(0, ACQUIRE, 0), E(0, ACQUIRE, 0),
         E(0, RELEASE, 0), E(0, RELEASE, 0), W(0, 0), E(1, ACQUIRE, 0), W(1, 0)),
    CASE("write-unlock to read-lock", 0, E(0, ACQUIRE, 0), W(0, 0), E(0, RELEASE, 0), E(1, RD_ACQ, 0),
         R(1, 0)),
    CASE("read-unlock to write-lock", 0, E(0, RD_ACQ, 0), R(0, 0), E(0, RD_REL, 0), E(1, ACQUIRE, 0),
         W(1, 0)),
    CASE("read-unlock to read-lock orders nothing", 1 << 4, E(0, RD_ACQ, 0), W(0, 0), E(0, RD_REL, 0),
         E(1, RD_ACQ, 0), W(1, 0)),
    CASE("two readers, then a writer, then a reader", 0, R(0, 0), E(0, RD_REL, 0), R(1, 0), E(1, RD_REL, 0),
         E(2, ACQUIRE, 0), W(2, 0), E(2, RELEASE, 0), E(0, RD_ACQ, 0), R(0, 0), E(0, RD_REL, 0),
         E(1, ACQUIRE, 0), W(1, 0)),
    CASE("a release store replaces", 1 << 4, W(0, 0), E(0, STORE, 0), E(1, STORE, 0), E(2, LOAD, 0), R(2, 0)),
    CASE("a read-modify-write continues", 0, W(0, 0), E(0, STORE, 0), E(1, RMW_REL, 0), E(2, LOAD, 0),
         R(2, 0)),
    CASE("a release-only one does not acquire", 1 << 3, W(0, 0), E(0, STORE, 0), E(1, RMW_REL, 0), R(1, 0)),
    CASE("an acquire-release one does", 0, W(0, 0), E(0, STORE, 0), E(1, RMW, 0), R(1, 0)),
    CASE("a store replaces read-unlocks too", 1 << 4, R(0, 0), E(0, RD_REL, 0), E(1, STORE, 0),
         E(2, ACQUIRE, 0), W(2, 0)),
    CASE("semaphore: every post before the wait", 0, W(0, 0), E(0, POST, 0), W(1, 1), E(1, POST, 0),
         E(2, WAIT, 0), R(2, 0), R(2, 1)),
    CASE("barrier", 0, W(0, 0), E(0, ARRIVE, 0), W(1, 1), E(1, ARRIVE, 0), E(0, LEAVE, 0), R(0, 1),
         E(1, LEAVE, 0), R(1, 0)),
    // Thread 1 wakes late: its first leave comes after thread 0 came to the second round, its second arrival
    // after that leave. The second round still orders thread 0's write before thread 1's read.
    CASE("barrier: a late leaver in a loop", 0, E(0, ARRIVE, 0), E(1, ARRIVE, 0), E(0, LEAVE, 0), W(0, 0),
         E(0, ARRIVE, 0), E(1, LEAVE, 0), E(1, ARRIVE, 0), E(1, LEAVE, 0), R(1, 0), E(0, LEAVE, 0)),
    // A barrier for two that three threads use.
    CASE("barrier: a third thread comes before the second left", 0, W(0, 0), E(0, ARRIVE, 0), E(1, ARRIVE, 0),
         E(0, LEAVE, 0), E(2, ARRIVE, 0), E(1, LEAVE, 0), R(1, 0)),
    CASE("fork", 0, W(0, 0), E(0, FORK, 1), R(1, 0)),
    CASE("fork does not order what follows it", 1 << 2, E(0, FORK, 1), W(0, 0), R(1, 0)),
    CASE("fork of a thread that already runs", 1 << 2 | 1 << 5, R(1, 0), E(1, ENTER, 0), W(0, 0),
         E(0, FORK, 1), R(1, 0), W(2, 0)),
    CASE("join", 0, E(0, FORK, 1), W(1, 0), E(0, JOIN, 1), W(0, 0)),
    CASE("fork and join of a thread without events", 0, W(0, 0), E(0, FORK, 1), E(2, JOIN, 1), W(2, 0)),
    CASE("a thread goes on after its join", 1 << 3, W(1, 0), E(0, JOIN, 1), W(1, 0), W(0, 0)),
    CASE("fork and join of oneself", 1 << 3, E(0, FORK, 0), W(0, 0), E(0, JOIN, 0), W(1, 0)),
    CASE("an unlock of a lock not held still publishes", 0, W(0, 0), E(0, RELEASE, 0), E(1, RELEASE, 0),
         E(2, ACQUIRE, 0), R(2, 0)),
};

static void hand(void **state)
{
    static struct random_trace t;
    static struct subject s;
    static struct expected x;
    static struct report p;
    const struct rb_sampler_spec all = test_sampler("all");

    (void)state;
    for (size_t c = 0; c < RB_LENGTH(by_hand); c++) {
        const struct hand_case *h = &by_hand[c];
        t = (struct random_trace){.count = h->count};
        memcpy(t.event, h->event, h->count * sizeof(h->event[0]));
        subject_open(&s, &t);
        expect(&x, &s, &all, 1);
        for (uint32_t i = 0; i < h->count; i++) {
            if (x.racy[i] != (h->racy >> i & 1)) {
                fprintf(stderr, "%s: event %u\n", h->what, i);
                fail();
            }
        }
        for (int e = 0; rb_engines[e]; e++) {
            report_make(&p, &s, rb_engines[e], &x, true);
            t.bad_acquires = p.result.lenient_acquires; // not the matter of this test
            t.bad_releases = p.result.lenient_releases;
            must_hold(check(&p, &s, &x, rb_engines[e]), c, &p, &s, &x, rb_engines[e]);
            report_free(&p);
        }
        subject_close(&s);
    }
}

// ---- the main property ---------------------------------------------------------------------------------

// What a run saw, so that a test that checks nothing does not pass.
static struct {
    uint64_t traces, replays, racy, events, with_race, undisciplined;
    uint64_t of[RB_OPS];
} seen;

// The first warning of each variable names the same thread and kind of access as the exact engines do; within
// its epoch FastTrack knows the first access, they the last.
static const char *first_pairs_differ(const struct report *exact, const struct report *fast,
                                      const struct random_trace *t)
{
    for (uint32_t i = 0; i < exact->races; i++) {
        const struct rb_event *a = &t->event[exact->race[i].first];
        bool first = true;
        for (uint32_t k = 0; k < i; k++)
            first &= t->event[exact->race[k].second].target != a->target;
        for (uint32_t k = 0; first && k < fast->races; k++) {
            const struct rb_event *b = &t->event[fast->race[k].first];
            if (fast->race[k].second == exact->race[i].second && (a->thread != b->thread || a->op != b->op))
                return "names another first access than djit";
        }
    }
    return NULL;
}

static void every_engine(struct subject *s, const struct expected *x, uint64_t seed)
{
    static struct report exact, other;

    report_make(&exact, s, &rb_djit, x, true);
    must_hold(check(&exact, s, x, &rb_djit), seed, &exact, s, x, &rb_djit);
    for (int e = 0; rb_engines[e]; e++) {
        const struct rb_engine_ops *engine = rb_engines[e];
        if (engine == &rb_djit)
            continue;
        report_make(&other, s, engine, x, true);
        must_hold(check(&other, s, x, engine), seed, &other, s, x, engine);
        if (engine != &rb_fasttrack &&
            (other.bytes != exact.bytes || memcmp(other.csv, exact.csv, exact.bytes)))
            must_hold("not the same CSV as djit", seed, &other, s, x, engine);
        if (engine == &rb_fasttrack && !x->checks && x->windows <= 1)
            must_hold(first_pairs_differ(&exact, &other, s->trace), seed, &other, s, x, engine);
        report_free(&other);
        seen.replays++;
    }
    seen.replays++;
    seen.racy += exact.races;
    report_free(&exact);
}

static void every_sampler(uint64_t seed, const struct random_shape *shape)
{
    static struct random_trace t;
    static struct subject s;
    static struct expected x;
    bool raced = false;

    random_trace_make(&t, seed, shape);
    subject_open(&s, &t);
    for (size_t i = 0; i < RB_LENGTH(samplers); i++) {
        const struct rb_sampler_spec spec = test_sampler(samplers[i]);
        if (i >= ALWAYS && (i ^ seed) & 1)
            continue;
        if (shape->locations_from > 0 && strstr(samplers[i], "static"))
            continue; // draws for half a million locations
        expect(&x, &s, &spec, seed ^ i);
        every_engine(&s, &x, seed);
        raced |= x.racy_events > 0;
    }
    subject_close(&s);
    seen.traces++;
    seen.events += t.count;
    seen.with_race += raced;
    seen.undisciplined += t.bad_acquires + t.bad_releases > 0;
    for (uint32_t i = 0; i < t.count; i++)
        seen.of[t.event[i].op]++;
}

static void small(void **state)
{
    const uint32_t n = test_traces(5000);

    (void)state;
    memset(&seen, 0, sizeof(seen));
    for (uint32_t i = 0; i < n; i++)
        every_sampler(i, &random_small);
    print_message(
        "%llu traces, %llu events, %llu replays, %llu warnings; %llu traces with a race, %llu without "
        "lock discipline\n",
        (unsigned long long)seen.traces, (unsigned long long)seen.events, (unsigned long long)seen.replays,
        (unsigned long long)seen.racy, (unsigned long long)seen.with_race,
        (unsigned long long)seen.undisciplined);
    if (n < 500)
        return;
    for (int op = 0; op < RB_OPS; op++)
        if (rb_op_info[op].text)
            assert_true(seen.of[op] > n / 20);
    assert_true(seen.with_race > n / 4 && seen.with_race < n);
    assert_true(seen.undisciplined > n / 10 && seen.undisciplined < n / 2);
}

// Traces of several pages: gaps and masks that run over their ends.
static void pages(void **state)
{
    const struct random_shape shape = {.events_min = 505,
                                       .events_max = 1100,
                                       .threads_min = 2,
                                       .threads_max = 8};
    const uint32_t n = test_traces(50);

    (void)state;
    for (uint32_t i = 0; i < n; i++)
        every_sampler(1000000 + i, &shape);
}

static void wide_records(void **state)
{
    struct random_shape shape = random_small;
    const uint32_t n = test_traces(30);

    (void)state;
    shape.locations_from = 1u << 19;
    shape.events_max = 600; // 255 a page
    for (uint32_t i = 0; i < n; i++)
        every_sampler(2000000 + i, &shape);
}

// Few threads and many events: RPT has windows.
static void windows(void **state)
{
    const struct random_shape shape = {.events_min = 120,
                                       .events_max = 600,
                                       .threads_min = 2,
                                       .threads_max = 3};
    static struct random_trace t;
    static struct subject s;
    static struct expected x;
    const uint32_t n = test_traces(1200);
    uint32_t apart = 0, partial = 0;

    (void)state;
    for (uint32_t i = 0; i < n; i++) {
        const struct rb_sampler_spec spec = test_sampler(i % 2 ? "rpt:1,0.7" : "rpt:0.9,0.3");
        random_trace_make(&t, 3000000 + i, &shape);
        subject_open(&s, &t);
        expect(&x, &s, &spec, i);
        every_engine(&s, &x, 3000000 + i);
        apart += x.windows > 1;
        for (uint32_t j = 0; j < t.count; j++)
            if (!x.seen[j]) {
                partial++;
                break;
            }
        subject_close(&s);
    }
    print_message("%u traces with parts left out, %u with windows apart\n", partial, apart);
    assert_true(n < 100 || (partial > n / 5 && apart > n / 10));
}

// Clocks that start as small as their thread allows and grow when they meet larger ones, as in a running
// program; in the lab they all have the width of the trace.
static const struct rb_engine_ops *grown;

static int narrow_start(struct rb_engine *e, struct rb_thread *t)
{
    e->width = t->slot + 1;
    return grown->thread_start(e, t);
}

static void growing(void **state)
{
    static struct random_trace t;
    static struct subject s;
    static struct expected x;
    static struct report p;
    const uint32_t n = test_traces(3000);

    (void)state;
    for (uint32_t i = 0; i < n; i++) {
        const struct rb_sampler_spec spec = test_sampler(samplers[i % RB_LENGTH(samplers)]);
        random_trace_make(&t, 4000000 + i, &random_small);
        subject_open(&s, &t);
        expect(&x, &s, &spec, i);
        for (int e = 0; rb_engines[e]; e++) {
            struct rb_engine_ops ops = *rb_engines[e];
            grown = rb_engines[e];
            ops.thread_start = narrow_start;
            report_make(&p, &s, &ops, &x, true);
            must_hold(check(&p, &s, &x, grown), 4000000 + i, &p, &s, &x, grown);
            report_free(&p);
        }
        subject_close(&s);
    }
}

// A trace long enough to be read by a second thread. No oracle for this many events: the engines among
// themselves, and the policy's own decisions.
static void read_ahead(void **state)
{
    enum { EVENTS = 300000 };
    static const char *const text[] = {"random:0.02", "literace", "pacer:0.01,64"};
    const struct random_shape shape = {.events_min = 1900,
                                       .events_max = 1900,
                                       .threads_min = 2,
                                       .threads_max = 8};
    struct rb_event *event = malloc(EVENTS * sizeof(*event));
    enum rb_take *take = malloc(EVENTS * sizeof(*take));
    static struct random_trace t;
    const struct test_sizes sizes = {0};
    struct rb_reader r;

    (void)state;
    assert_true(event && take);
    for (uint32_t n = 0, i = 0; n < EVENTS; i++) {
        random_trace_make(&t, 6000000 + i, &shape);
        for (uint32_t k = 0; k < t.count && n < EVENTS; k++)
            event[n++] = t.event[k];
    }
    test_trace(&r, event, EVENTS, &sizes);
    for (size_t i = 0; i < RB_LENGTH(text); i++) {
        const struct rb_sampler_spec spec = test_sampler(text[i]);
        char *first = NULL;
        uint64_t taken = 0;
        test_decisions(&r, event, EVENTS, &spec, 7, take);
        for (uint32_t k = 0; k < EVENTS; k++)
            taken += take[k] == RB_TAKE;
        for (int e = 0; rb_engines[e]; e++) {
            struct rb_replay_options o = {.engine = rb_engines[e],
                                          .sampler = spec,
                                          .seed = 7,
                                          .lenient = true};
            struct rb_result result;
            struct rb_error error = {0};
            char *csv = NULL;
            size_t bytes;
            o.races = open_memstream(&csv, &bytes);
            assert_int_equal(rb_replay(&r, &o, &result, &error), 0);
            fclose(o.races);
            assert_true(result.events_read == EVENTS && result.sampled == taken && result.warnings > 100);
            if (rb_engines[e] != &rb_fasttrack && first)
                assert_string_equal(first, csv);
            if (rb_engines[e] != &rb_fasttrack && !first)
                first = csv;
            else
                free(csv);
            rb_result_free(&result);
        }
        free(first);
    }
    rb_reader_close(&r);
    free(event);
    free(take);
}

// Without --lenient a trace that misuses a lock is refused, and any other is not.
static void strict(void **state)
{
    static struct random_trace t;
    static struct subject s;
    static struct expected x;
    static struct report p;
    const struct rb_sampler_spec spec = test_sampler("all");
    const uint32_t n = test_traces(1000);
    uint32_t refused = 0;

    (void)state;
    for (uint32_t i = 0; i < n; i++) {
        random_trace_make(&t, 5000000 + i, &random_small);
        subject_open(&s, &t);
        expect(&x, &s, &spec, i);
        report_make(&p, &s, &rb_so, &x, false);
        if (t.bad_acquires + t.bad_releases == 0) {
            must_hold(check(&p, &s, &x, &rb_so), 5000000 + i, &p, &s, &x, &rb_so);
        } else {
            refused++;
            assert_true(p.status < 0);
            assert_int_equal(p.error.fault, RB_FAULT_INPUT);
            assert_non_null(strstr(p.error.text, "--lenient takes such traces"));
            assert_null(report_check_true(&p, &s, &x));
        }
        report_free(&p);
        subject_close(&s);
    }
    assert_true(n < 100 || refused > n / 10);
}

// Nothing to analyse is no error, under any sampler.
static void no_events(void **state)
{
    static struct random_trace t;
    static struct subject s;
    static struct expected x;
    static struct report p;

    (void)state;
    t = (struct random_trace){.count = 0};
    subject_open(&s, &t);
    for (size_t i = 0; i < RB_LENGTH(samplers); i++) {
        x = (struct expected){.spec = test_sampler(samplers[i])};
        for (int e = 0; rb_engines[e]; e++) {
            report_make(&p, &s, rb_engines[e], &x, false);
            assert_string_equal(p.error.text, "");
            assert_int_equal(p.status, 0);
            assert_int_equal(p.races + p.result.accesses + p.result.events_read, 0);
            report_free(&p);
        }
    }
    subject_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hand),       cmocka_unit_test(small),   cmocka_unit_test(pages),
        cmocka_unit_test(windows),    cmocka_unit_test(growing), cmocka_unit_test(wide_records),
        cmocka_unit_test(read_ahead), cmocka_unit_test(strict),  cmocka_unit_test(no_events),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
