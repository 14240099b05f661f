// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The sampling policies on their own, without an engine: what is parsed and refused, call schedules event by
// event, and shares of random policies. Seeds are fixed, so nothing here is a coin toss; the bounds are five
// standard deviations of the exact distribution all the same, so that another seed would do as well.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/gaps.h"
#include "engine/oracle_check.h"

static struct rb_sampler s; // the one under test

static void start_in(const char *text, uint64_t seed, uint32_t threads, uint64_t functions,
                     uint64_t locations)
{
    const struct rb_sampler_spec spec = test_sampler(text);
    const struct rb_sampler_world world = {threads, functions, locations};

    assert_int_equal(rb_sampler_start(&s, &spec, &world, seed), 0);
}

// Is `count` of `n` trials a plausible share p?
static void assert_share(uint64_t count, uint64_t n, double p)
{
    const double off = fabs((double)count - p * (double)n), sd = sqrt(p * (1 - p) * (double)n);

    if (off > 5 * sd) {
        fprintf(stderr, "%llu of %llu, expected %g\n", (unsigned long long)count, (unsigned long long)n, p);
        fail();
    }
}

// ---- parsing -------------------------------------------------------------------------------------------

static void accepted(void **state)
{
    static const struct {
        const char *text, *name;
        double p, delta;
        uint64_t length;
    } row[] = {
        {"all", "all", 0, 0, 0},
        {"none", "none", 0, 0, 0},
        {"random:0.03", "random", 0.03, 0, 0},
        {"random:0", "random", 0, 0, 0},
        {"random:1", "random", 1, 0, 0},
        {"random:1e-6", "random", 1e-6, 0, 0},
        {"literace", "literace", 0, 0, 0},
        {"tl-fx", "tl-fx", 0, 0, 0},
        {"g-ad", "g-ad", 0, 0, 0},
        {"g-fx", "g-fx", 0, 0, 0},
        {"rnd10", "rnd10", 0, 0, 0},
        {"rnd25", "rnd25", 0, 0, 0},
        {"ucp", "ucp", 0, 0, 0},
        {"pacer:0.03", "pacer", 0.03, 0, 4096},
        {"pacer:0.4,5", "pacer", 0.4, 0, 5},
        {"pacer:1,1", "pacer", 1, 0, 1},
        {"pacer:0.5,1e12", "pacer", 0.5, 0, 1000000000000},
        {"rpt:0.01,0.1", "rpt", 0.01, 0.1, 0},
        {"rpt:1,0.999", "rpt", 1, 0.999, 0},
        {"static:0.25", "static", 0.25, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < RB_LENGTH(row); i++) {
        struct rb_sampler_spec spec;
        struct rb_error e = {0};
        assert_int_equal(rb_sampler_parse(row[i].text, &spec, &e), 0);
        assert_string_equal(spec.ops->name, row[i].name);
        assert_string_equal(spec.text, row[i].text);
        assert_true(spec.p == row[i].p && spec.delta == row[i].delta && spec.length == row[i].length);
        assert_int_equal(e.fault, RB_FAULT_NONE);
    }
}

static void refused(void **state)
{
    static const struct {
        const char *text, *says; // part of the message
    } row[] = {
        {"", "not known; expected one of: all none random:P"},
        {"al", "sampler 'al' is not known"},
        {"ALL", "sampler 'ALL' is not known"},
        {"all ", "not known"},
        {"literace2", "not known"},
        {"a-name-that-is-far-too-long-to-be-printed-in-full-but-must-not-hurt", "not known"},
        {"adaptive", "works in a running program only; on a trace, take 'literace' or 'random:P'"},
        {"adaptive:5", "takes no parameter"},
        {"all:0.5", "'all' takes no parameter"},
        {"literace:", "'literace' takes no parameter"},
        {"random", "expected random:P with numbers"},
        {"random:", "expected random:P with numbers"},
        {"random:x", "expected random:P with numbers"},
        {"random:0.5x", "expected random:P with numbers"},
        {"random:0.5,", "expected random:P with numbers"},
        {"random:0.5,0.5", "expected one probability from 0 to 1"},
        {"random:1.01", "expected one probability from 0 to 1"},
        {"random:-0.1", "expected one probability from 0 to 1"},
        {"random:nan", "expected one probability from 0 to 1"},
        {"random:inf", "expected one probability from 0 to 1"},
        {"static:2", "expected one probability from 0 to 1"},
        {"static", "expected static:P with numbers"},
        {"pacer", "expected pacer:P[,LENGTH] with numbers"},
        {"pacer:1.5", "expected pacer:P or pacer:P,LENGTH"},
        {"pacer:0.5,0", "whole LENGTH of at least 1"},
        {"pacer:0.5,-3", "whole LENGTH of at least 1"},
        {"pacer:0.5,2.5", "whole LENGTH of at least 1"},
        {"pacer:0.5,1e300", "whole LENGTH of at least 1"},
        {"pacer:0.5,nan", "whole LENGTH of at least 1"},
        {"pacer:nan,5", "expected pacer:P"},
        {"pacer:0.5,5,5", "expected pacer:P[,LENGTH] with numbers"},
        {"crsampler", "expected crsampler:P[,MS] with numbers"},
        {"crsampler:1.5", "expected crsampler:P or crsampler:P,MS"},
        {"crsampler:0.5,0", "whole milliseconds from 1 to 10000"},
        {"crsampler:0.5,1.5", "whole milliseconds from 1 to 10000"},
        {"crsampler:0.5,10001", "whole milliseconds from 1 to 10000"},
        {"datacollider:nan", "expected datacollider:P or datacollider:P,MS"},
        {"datacollider:0.5,nan", "whole milliseconds from 1 to 10000"},
        {"crsampler:0.5", "works in a running program only; on a trace, take 'static:P'"},
        {"datacollider:0.5,30", "works in a running program only; on a trace, take 'static:P'"},
        {"rpt", "expected rpt:EPS,DELTA with numbers"},
        {"rpt:0.1", "0 < EPS <= 1, 0 < DELTA < 1"},
        {"rpt:0,0.1", "0 < EPS <= 1, 0 < DELTA < 1"},
        {"rpt:1.1,0.1", "0 < EPS <= 1, 0 < DELTA < 1"},
        {"rpt:0.1,0", "0 < EPS <= 1, 0 < DELTA < 1"},
        {"rpt:0.1,1", "0 < EPS <= 1, 0 < DELTA < 1"},
        {"rpt:nan,0.1", "0 < EPS <= 1, 0 < DELTA < 1"},
        {"rpt:0.1,nan", "0 < EPS <= 1, 0 < DELTA < 1"},
    };

    (void)state;
    for (size_t i = 0; i < RB_LENGTH(row); i++) {
        struct rb_sampler_spec spec;
        struct rb_error e = {0};
        assert_true(rb_sampler_parse_offline(row[i].text, &spec, &e) < 0);
        assert_int_equal(e.fault, RB_FAULT_INPUT);
        if (!strstr(e.text, row[i].says)) {
            fprintf(stderr, "'%s': %s\n", row[i].text, e.text);
            fail();
        }
        assert_null(strchr(e.text, '\n'));
    }
}

// ---- randomness ----------------------------------------------------------------------------------------

// Digit by digit, gaps have the distribution that the table has: for small gaps compared one by one.
static void digits(void **state)
{
    static struct rb_gaps t;
    static uint32_t by_table[40], by_digits[40];
    enum { N = 300000 };
    struct rb_rng rng;

    (void)state;
    rb_gaps_init(&t, 0.12);
    rb_rng_seed(&rng, 3);
    for (uint32_t i = 0; i < N; i++) {
        const uint64_t a = rb_gaps_draw(&t, &rng), b = rb_gaps_draw_digits(&t, &rng);
        by_table[a < 39 ? a : 39]++;
        by_digits[b < 39 ? b : 39]++;
    }
    for (uint32_t g = 0; g < 39; g++) {
        assert_share(by_table[g], N, 0.12 * pow(0.88, g));
        assert_share(by_digits[g], N, 0.12 * pow(0.88, g));
    }
    assert_share(by_table[39], N, pow(0.88, 39));
    assert_share(by_digits[39], N, pow(0.88, 39));
}

// Gaps of random:p are geometric: mean (1-p)/p, variance (1-p)/p^2, and none with probability p.
static void gaps(void **state)
{
    static const struct {
        const char *text;
        double p;
    } row[] = {{"random:1e-12", 1e-12}, {"random:3e-7", 3e-7}, {"random:0.0003", 0.0003},
               {"random:0.003", 0.003}, {"random:0.03", 0.03}, {"random:0.1", 0.1},
               {"random:0.3", 0.3},     {"random:0.5", 0.5},   {"random:0.9", 0.9},
               {"random:0.999", 0.999}};
    enum { N = 200000 };

    (void)state;
    for (size_t i = 0; i < RB_LENGTH(row); i++) {
        const double p = row[i].p, mean = (1 - p) / p, variance = (1 - p) / (p * p);
        double sum = 0, squares = 0;
        uint64_t none = 0;

        start_in(row[i].text, 11 + i, 1, 0, 1);
        for (uint32_t k = 0; k < N; k++) {
            const double gap = (double)s.ops->gap(&s);
            sum += gap;
            squares += (gap - mean) * (gap - mean);
            none += gap == 0;
        }
        rb_sampler_stop(&s);
        assert_true(fabs(sum / N - mean) < 5 * sqrt(variance / N));
        // The fourth central moment is variance^2 (9 + p^2 / (1-p)).
        assert_true(fabs(squares / N - variance) < 5 * variance * sqrt((8 + p * p / (1 - p)) / N));
        assert_share(none, N, p);
    }
}

static void ends(void **state)
{
    static const struct {
        const char *text;
        uint64_t at_least, at_most;
    } row[] = {{"none", RB_GAP_END, RB_GAP_END},
               {"random:0", RB_GAP_END, RB_GAP_END},
               {"pacer:0", RB_GAP_END, RB_GAP_END},
               {"random:1e-300", UINT64_C(1) << 40, RB_GAP_END}, // beyond any trace, and at once
               {"pacer:1e-300", UINT64_C(1) << 40, RB_GAP_END},
               {"random:1", 0, 0},
               {"pacer:1,3", 0, 0},
               {"all", 0, 0}};

    (void)state;
    for (size_t i = 0; i < RB_LENGTH(row); i++) {
        for (uint64_t seed = 0; seed < 100; seed++) {
            start_in(row[i].text, seed, 1, 0, 1);
            for (int k = 0; k < 20 && (k == 0 || row[i].at_most == 0); k++) {
                const uint64_t gap = s.ops->gap(&s);
                assert_true(gap >= row[i].at_least && gap <= row[i].at_most);
            }
            rb_sampler_stop(&s);
        }
    }
}

// ---- shares and seeds ----------------------------------------------------------------------------------

// A stream of accesses: `threads` take turns, each in bursts of calls. Decisions go to `take`.
#define STREAM 200000u
static struct rb_event stream[STREAM];

// Calls of `functions` functions with `each` accesses in every call; location = function.
static uint32_t make_calls(uint32_t threads, uint32_t functions, uint32_t each, uint32_t count)
{
    struct rb_rng rng;
    uint32_t n = 0;

    rb_rng_seed(&rng, 77);
    while (n + each + 2 <= count) {
        const uint32_t thread = (uint32_t)rb_rng_below(&rng, threads);
        const uint32_t function = (uint32_t)rb_rng_below(&rng, functions);
        stream[n++] = (struct rb_event){.op = RB_ENTER, .thread = thread, .target = function};
        for (uint32_t i = 0; i < each; i++)
            stream[n++] =
                (struct rb_event){.op = i % 2 ? RB_READ : RB_WRITE, .thread = thread, .location = function};
        stream[n++] = (struct rb_event){.op = RB_EXIT, .thread = thread, .target = function};
    }
    return n;
}

static void decide(const char *text, uint64_t seed, uint32_t count, enum rb_take *take)
{
    static struct rb_reader r; // only what the sampler may know
    const struct rb_sampler_spec spec = test_sampler(text);

    r.header.table[RBT_THREADS].count = 4;
    r.header.table[RBT_FUNCTIONS].count = r.header.table[RBT_LOCATIONS].count = 50;
    r.header.events_of[RB_ENTER] = 1;
    test_decisions(&r, stream, count, &spec, seed, take);
}

static void shares(void **state)
{
    static enum rb_take take[STREAM];
    static const struct {
        const char *text;
        double share;
        uint32_t together; // accesses decided as one
    } row[] = {{"random:0.3", 0.3, 1},
               {"random:0.01", 0.01, 1},
               {"pacer:0.3,16", 0.3, 16},
               {"pacer:0.05,1", 0.05, 1},
               {"rnd10", 0.1, 4},
               {"rnd25", 0.25, 4},
               {"all", 1, 1},
               {"none", 0, 1}};
    const uint32_t n = make_calls(4, 50, 4, STREAM);

    (void)state;
    for (size_t i = 0; i < RB_LENGTH(row); i++) {
        uint64_t accesses = 0, taken = 0;
        decide(row[i].text, 5, n, take);
        for (uint32_t k = 0; k < n; k++) {
            accesses += stream[k].op < RB_FIRST_NON_ACCESS;
            taken += take[k] == RB_TAKE;
            if (stream[k].op >= RB_FIRST_NON_ACCESS)
                assert_int_equal(take[k], RB_PASS);
            else if (take[k] != RB_TAKE)
                assert_int_equal(take[k], strstr(row[i].text, "pacer") ? RB_CHECK : RB_PASS);
        }
        assert_share(taken / row[i].together, accesses / row[i].together, row[i].share);
    }
}

static void seeds(void **state)
{
    static const struct {
        const char *text;
        bool draws;
    } row[] = {{"random:0.3", true}, {"pacer:0.4,5", true}, {"static:0.5", true}, {"rnd10", true},
               {"rnd25", true},      {"literace", false},   {"tl-fx", false},     {"g-ad", false},
               {"g-fx", false},      {"ucp", false},        {"all", false},       {"none", false}};
    static enum rb_take a[STREAM], b[STREAM];
    const uint32_t n = make_calls(4, 50, 3, 20000);

    (void)state;
    for (size_t i = 0; i < RB_LENGTH(row); i++) {
        decide(row[i].text, 8, n, a);
        decide(row[i].text, 8, n, b);
        assert_memory_equal(a, b, n * sizeof(a[0]));
        decide(row[i].text, 9, n, b);
        assert_true((memcmp(a, b, n * sizeof(a[0])) != 0) == row[i].draws);
    }
}

// Whatever the engine, the replay takes the accesses that the policy alone would take.
static void same_for_every_engine(void **state)
{
    static const char *const text[] = {"random:0.3", "literace",    "tl-fx",      "g-ad", "g-fx", "rnd10",
                                       "rnd25",      "pacer:0.4,5", "static:0.5", "ucp",  "all",  "none"};
    const struct random_shape shape = {.events_min = 1500,
                                       .events_max = 2000,
                                       .threads_min = 2,
                                       .threads_max = 4};
    static struct random_trace t;
    static struct subject subject;
    static struct expected x;
    static struct report p;

    (void)state;
    for (uint32_t i = 0; i < 6; i++) {
        random_trace_make(&t, 600 + i, &shape);
        subject_open(&subject, &t);
        for (size_t k = 0; k < RB_LENGTH(text); k++) {
            const struct rb_sampler_spec spec = test_sampler(text[k]);
            expect(&x, &subject, &spec, 40 + i);
            for (int e = 0; rb_engines[e]; e++) {
                report_make(&p, &subject, rb_engines[e], &x, true);
                const char *wrong = report_check(&p, &subject, &x); // compares what was sampled
                if (wrong) {
                    fprintf(stderr, "%s, %s: %s\n", text[k], rb_engines[e]->name, wrong);
                    fail();
                }
                assert_true(p.result.regions_are_locations ==
                            (spec.ops->wants_functions && subject.reader.header.events_of[RB_ENTER] == 0));
                report_free(&p);
            }
        }
        subject_close(&subject);
    }
}

// ---- call schedules ------------------------------------------------------------------------------------

// Runs of taken and passed calls, in turn, beginning with taken; the last two repeat for ever.
static const struct schedule {
    const char *text;
    bool per_thread;
    uint32_t run[24];
} schedules[] = {
    {"literace", true, {10, 90, 10, 990, 10, 9990, 10, 9990}},
    {"tl-fx", true, {10, 190, 10, 190}},
    {"g-ad", false, {10,  10, 10,   30, 10,   70, 10,   150, 10,   310, 10,
                     630, 10, 1270, 10, 2550, 10, 5110, 10,  9990, 10,  9990}},
    {"g-fx", false, {10, 90, 10, 90}},
};

struct follower {
    uint32_t at, done;
};

static bool scheduled(const struct schedule *c, struct follower *f)
{
    const bool taken = f->at % 2 == 0;

    if (++f->done == c->run[f->at]) {
        f->done = 0;
        f->at += c->run[f->at + 1] ? 1 : (uint32_t)-1; // the list ends with a passed run
    }
    return taken;
}

static bool call_taken(bool by_location, uint32_t thread, uint32_t id)
{
    bool taken;

    if (by_location)
        return s.ops->ask(&s, thread, id) == RB_TAKE;
    s.ops->enter(&s, thread, id);
    taken = s.ops->ask(&s, thread, 0) == RB_TAKE;
    assert_true(taken == (s.ops->ask(&s, thread, 1) == RB_TAKE)); // holds for the whole call
    s.ops->exit(&s, thread);
    return taken;
}

static void bursts(void **state)
{
    enum { THREADS = 3, REGIONS = 2 };

    (void)state;
    for (size_t i = 0; i < 2 * RB_LENGTH(schedules); i++) {
        const struct schedule *c = &schedules[i / 2];
        const bool by_location = i % 2;
        struct follower follow[THREADS][REGIONS] = {{{0, 0}}};
        struct rb_rng rng;

        start_in(c->text, i, THREADS, by_location ? 0 : REGIONS, REGIONS);
        assert_true(s.by_location == by_location);
        rb_rng_seed(&rng, i);
        for (uint32_t k = 0; k < 250000; k++) {
            const uint32_t thread = (uint32_t)rb_rng_below(&rng, THREADS);
            const uint32_t region = (uint32_t)rb_rng_below(&rng, REGIONS);
            const bool want = scheduled(c, &follow[c->per_thread ? thread : 0][region]);
            if (call_taken(by_location, thread, region) != want) {
                fprintf(stderr, "%s: call %u, expected %s\n", c->text, k, want ? "taken" : "passed");
                fail();
            }
        }
        rb_sampler_stop(&s);
    }
}

static void all_but_the_first_ten(void **state)
{
    (void)state;
    for (int by_location = 0; by_location < 2; by_location++) {
        start_in("ucp", 1, 2, by_location ? 0 : 3, 3);
        for (uint32_t k = 0; k < 1000; k++) {
            assert_true(call_taken(by_location, 0, 0) == (k >= 10));
            if (k < 500)
                assert_true(call_taken(by_location, 1, 0) == (k >= 10)); // counted for each thread
            if (k < 300)
                assert_true(call_taken(by_location, 0, 2) == (k >= 10)); // and each function
        }
        rb_sampler_stop(&s);
    }
}

// A decision is of one call: a callee has its own, the caller's holds again after the return.
static void nesting(void **state)
{
    (void)state;
    start_in("ucp", 1, 2, 2, 5);
    for (int k = 0; k < 10; k++)
        call_taken(false, 0, 0); // function 0 is warm in thread 0 now
    s.ops->enter(&s, 0, 0);
    assert_int_equal(s.ops->ask(&s, 0, 0), RB_TAKE);
    s.ops->enter(&s, 0, 1);
    assert_int_equal(s.ops->ask(&s, 0, 0), RB_PASS);
    s.ops->enter(&s, 0, 0);
    assert_int_equal(s.ops->ask(&s, 0, 0), RB_TAKE);
    assert_int_equal(s.ops->ask(&s, 1, 0), RB_PASS); // another thread
    s.ops->exit(&s, 0);
    assert_int_equal(s.ops->ask(&s, 0, 0), RB_PASS);
    s.ops->exit(&s, 0);
    assert_int_equal(s.ops->ask(&s, 0, 0), RB_TAKE);
    s.ops->exit(&s, 0);
    assert_int_equal(s.ops->ask(&s, 0, 0), RB_PASS); // outside of any function: one call, cold for ever
    for (int k = 0; k < 5; k++)
        s.ops->exit(&s, 0); // returns without a call change nothing
    s.ops->enter(&s, 0, 0);
    assert_int_equal(s.ops->ask(&s, 0, 0), RB_TAKE);

    for (int k = 0; k < 3000; k++) // deeper than the first stack
        s.ops->enter(&s, 0, k % 2);
    for (int k = 3000; k-- > 100;) {
        assert_int_equal(s.ops->ask(&s, 0, 0), RB_TAKE);
        s.ops->exit(&s, 0);
    }
    rb_sampler_stop(&s);
}

// ---- periods and places --------------------------------------------------------------------------------

// Periods of LENGTH accesses, each sampled whole or not at all, independently with probability P.
static void periods(void **state)
{
    enum { LENGTH = 7, PERIODS = 20000 };
    static bool sampled[PERIODS];
    uint64_t count = 0, both = 0, at = 0;

    (void)state;
    start_in("pacer:0.3,7", 21, 1, 0, 1);
    assert_int_equal(s.ops->between, RB_CHECK);
    memset(sampled, 0, sizeof(sampled));
    for (;;) {
        at += s.ops->gap(&s);
        if (at >= (uint64_t)PERIODS * LENGTH)
            break;
        sampled[at / LENGTH] = true;
        assert_int_equal(at % LENGTH, 0);
        for (uint32_t k = 1; k < LENGTH; k++)
            assert_true(s.ops->gap(&s) == 0);
        at += LENGTH;
    }
    rb_sampler_stop(&s);
    for (uint32_t i = 0; i < PERIODS; i++) {
        count += sampled[i];
        both += i % 2 && sampled[i] && sampled[i - 1];
    }
    assert_share(count, PERIODS, 0.3);
    assert_share(both, PERIODS / 2, 0.3 * 0.3);
}

static void places(void **state)
{
    enum { LOCATIONS = 5000 };
    uint64_t count = 0;

    (void)state;
    start_in("static:0.25", 4, 3, 7, LOCATIONS);
    for (uint32_t i = 0; i < LOCATIONS; i++) {
        const enum rb_take take = s.ops->ask(&s, 0, i);
        assert_true(take == RB_TAKE || take == RB_PASS);
        for (uint32_t thread = 0; thread < 3; thread++)
            assert_int_equal(s.ops->ask(&s, thread, i), take); // every execution alike
        count += take == RB_TAKE;
    }
    rb_sampler_stop(&s);
    assert_share(count, LOCATIONS, 0.25);
    for (int p = 0; p < 2; p++) {
        start_in(p ? "static:1" : "static:0", 4, 1, 0, 100);
        for (uint32_t i = 0; i < 100; i++)
            assert_int_equal(s.ops->ask(&s, 0, i), p ? RB_TAKE : RB_PASS);
        rb_sampler_stop(&s);
    }
}

// No threads, no functions, no locations: nothing to decide, and nothing that fails.
static void empty_world(void **state)
{
    static const char *const text[] = {"all",        "none",      "random:0.5", "literace", "tl-fx",
                                       "g-ad",       "g-fx",      "rnd10",      "rnd25",    "ucp",
                                       "static:0.5", "pacer:0.5", "rpt:0.1,0.1"};

    (void)state;
    for (size_t i = 0; i < RB_LENGTH(text); i++) {
        start_in(text[i], 1, 0, 0, 0);
        rb_sampler_stop(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepted), cmocka_unit_test(refused),
        cmocka_unit_test(digits),   cmocka_unit_test(gaps),
        cmocka_unit_test(ends),     cmocka_unit_test(shares),
        cmocka_unit_test(seeds),    cmocka_unit_test(same_for_every_engine),
        cmocka_unit_test(bursts),   cmocka_unit_test(all_but_the_first_ten),
        cmocka_unit_test(nesting),  cmocka_unit_test(periods),
        cmocka_unit_test(places),   cmocka_unit_test(empty_world),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
