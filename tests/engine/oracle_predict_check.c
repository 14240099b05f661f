// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "engine/oracle_predict_check.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "trace/lock_check.h"

static const char *const samplers[] = {"all", "random:0.4", "literace", "pacer:0.4,3", "static:0.5", "none"};

// ---- traces --------------------------------------------------------------------------------------------

void predict_tiny_any(struct random_trace *t, uint64_t seed)
{
    const struct random_shape shape = {.events_min = 6, .events_max = 14, .threads_min = 2, .threads_max = 4};

    random_trace_make(t, seed, &shape);
}

void predict_longer_any(struct random_trace *t, uint64_t seed)
{
    const struct random_shape shape = {.events_min = 30,
                                       .events_max = 110,
                                       .threads_min = 2,
                                       .threads_max = 6};

    random_trace_make(t, seed, &shape);
}

#define LOCKS   3u
#define THREADS 4u
#define DEPTH   3u

struct sections {
    struct random_trace *t;
    struct rb_rng rng;
    bool shared[LOCKS]; // read-write locks
    double others;      // share of events on an object that is no lock: number LOCKS
    struct {
        uint32_t lock;
        bool reading;
    } held[THREADS][DEPTH]; // outermost first
    uint32_t depth[THREADS];
};

static void put(struct sections *s, uint32_t thread, enum rb_op op, uint64_t target)
{
    s->t->event[s->t->count++] = (struct rb_event){.target = target, .thread = thread, .op = op};
}

static bool may_take(const struct sections *s, uint32_t thread, uint32_t lock, bool reading)
{
    for (uint32_t t = 0; t < THREADS; t++)
        for (uint32_t i = 0; i < s->depth[t]; i++)
            if (s->held[t][i].lock == lock && (t == thread || !reading || !s->held[t][i].reading))
                return t == thread && reading == s->held[t][i].reading; // an inner one
    return true;
}

// One event of the thread; sections end in any order, locks are not waited for.
static void step(struct sections *s, uint32_t thread, uint32_t locks, uint32_t variables)
{
    uint32_t *depth = &s->depth[thread];
    const uint32_t lock = (uint32_t)rb_rng_below(&s->rng, locks);
    const bool reading = s->shared[lock] && rb_rng_chance(&s->rng, 0.6);

    if (rb_rng_chance(&s->rng, s->others)) {
        static const enum rb_op of[] = {RB_POST, RB_WAIT, RB_STORE, RB_LOAD};
        put(s, thread, of[rb_rng_below(&s->rng, RB_LENGTH(of))], LOCKS);
    } else if (*depth && rb_rng_chance(&s->rng, 0.4)) {
        const uint32_t i = rb_rng_chance(&s->rng, 0.8) ? *depth - 1 : (uint32_t)rb_rng_below(&s->rng, *depth);
        put(s, thread, s->held[thread][i].reading ? RB_RD_REL : RB_RELEASE, s->held[thread][i].lock);
        memmove(&s->held[thread][i], &s->held[thread][i + 1], (--*depth - i) * sizeof(s->held[0][0]));
    } else if (*depth < DEPTH && rb_rng_chance(&s->rng, *depth ? 0.4 : 0.85) &&
               may_take(s, thread, lock, reading)) {
        put(s, thread, reading ? RB_RD_ACQ : RB_ACQUIRE, lock);
        s->held[thread][*depth].lock = lock;
        s->held[thread][(*depth)++].reading = reading;
    } else {
        // Within sections mostly what the innermost lock guards.
        const uint32_t inner = *depth ? s->held[thread][*depth - 1].lock : 0;
        const bool guarded = *depth && rb_rng_chance(&s->rng, 0.7);
        put(s, thread, rb_rng_chance(&s->rng, 0.5) ? RB_WRITE : RB_READ,
            guarded ? inner % variables : rb_rng_below(&s->rng, variables));
    }
}

static void make_sections(struct random_trace *t, uint64_t seed, uint32_t least, uint32_t most)
{
    struct sections s = {.t = t};
    uint32_t thread = 0;

    rb_rng_seed(&s.rng, seed);
    t->threads = 2 + (uint32_t)rb_rng_below(&s.rng, THREADS - 1);
    t->sizes = (struct test_sizes){.threads = t->threads};
    t->count = 0;
    t->bad_acquires = t->bad_releases = 0;
    const uint32_t locks = 1 + (uint32_t)rb_rng_below(&s.rng, LOCKS);
    const uint32_t variables = 1 + (uint32_t)rb_rng_below(&s.rng, 4);
    const uint32_t count = least + (uint32_t)rb_rng_below(&s.rng, most - least + 1);
    s.others = rb_rng_chance(&s.rng, 0.5) ? 0.12 : 0;
    for (uint32_t l = 0; l < locks; l++)
        s.shared[l] = rb_rng_chance(&s.rng, 0.3);
    while (t->count < count) {
        step(&s, thread, locks, variables);
        if (rb_rng_chance(&s.rng, 0.35))
            thread = (uint32_t)rb_rng_below(&s.rng, t->threads);
    }
}

void predict_tiny_sections(struct random_trace *t, uint64_t seed)
{
    make_sections(t, seed, 8, 18);
}

void predict_longer_sections(struct random_trace *t, uint64_t seed)
{
    make_sections(t, seed, 40, 240);
}

// ---- checks --------------------------------------------------------------------------------------------

// The subject with another order in place of happens-before.
static void open_with(struct subject *s, const struct random_trace *t, order_fn order)
{
    subject_open(s, t);
    oracle_free(&s->oracle);
    order(&s->oracle, t->event, t->count);
}

// Accesses that PACER only checks are not looked at by these engines.
static void expect_taken(struct expected *x, const struct subject *s, const char *sampler, uint64_t seed)
{
    const struct rb_sampler_spec spec = test_sampler(sampler);

    expect(x, s, &spec, seed);
    for (uint32_t i = 0; i < s->trace->count; i++)
        if (x->take[i] == RB_CHECK)
            x->take[i] = RB_PASS;
    x->checks = false;
    x->racy_events = oracle_racy(&s->oracle, x->take, x->racy);
}

static void must_hold(struct subject *s, const struct expected *x, const struct rb_engine_ops *engine,
                      const char *what, uint64_t seed)
{
    static struct report p;

    // Half of those without misuse as strict as they come: the engine then learns of objects in another way.
    report_make(&p, s, engine, x, seed % 2 == 0 || !oracle_disciplined(s->trace->event, s->trace->count));
    const char *wrong = report_check_exact(&p, s, x);
    if (wrong) {
        fprintf(stderr, "%s, seed %llu: ", what, (unsigned long long)seed);
        report_print(&p, s, x, engine->name, wrong);
        fail();
    }
    report_free(&p);
}

static void count_misuse(struct random_trace *t)
{
    struct rb_lock_state held[8] = {{0, 0}};

    for (uint32_t i = 0; i < t->count; i++) {
        const struct rb_event *e = &t->event[i];
        if (e->op != RB_ACQUIRE && e->op != RB_RELEASE)
            continue;
        assert_true(e->target < RB_LENGTH(held));
        const enum rb_lock_verdict v = rb_lock_apply(&held[e->target], e->op, e->thread);
        t->bad_acquires += v == RB_LOCK_OVERLAP;
        t->bad_releases += v == RB_LOCK_NOT_HELD || v == RB_LOCK_HELD_ELSE;
    }
}

void predict_by_hand(const struct hand_case *cases, size_t count, const struct rb_engine_ops *engine,
                     order_fn order)
{
    static struct random_trace t;
    static struct subject s;
    static struct expected x;

    for (size_t c = 0; c < count; c++) {
        const struct hand_case *h = &cases[c];
        t = (struct random_trace){.count = h->count};
        memcpy(t.event, h->event, h->count * sizeof(h->event[0]));
        count_misuse(&t);
        open_with(&s, &t, order);
        expect_taken(&x, &s, "all", 1);
        for (uint32_t i = 0; i < h->count; i++)
            if (x.racy[i] != (i < 64 && (h->racy >> i & 1))) {
                fprintf(stderr, "%s: the order itself is wrong at event %u\n", h->what, i);
                fail();
            }
        must_hold(&s, &x, engine, h->what, 1);
        subject_close(&s);
    }
}

// Accesses that conflict with an earlier one and are not racy.
static uint32_t ordered_conflicts(const struct subject *s, const struct expected *x)
{
    const struct rb_event *e = s->trace->event;
    uint32_t n = 0;

    for (uint32_t j = 0; j < s->trace->count; j++) {
        bool any = false;
        for (uint32_t i = 0; i < j; i++)
            any |= e[i].op <= RB_WRITE && e[j].op <= RB_WRITE && e[i].target == e[j].target &&
                   e[i].thread != e[j].thread && (e[i].op == RB_WRITE || e[j].op == RB_WRITE);
        n += any && !x->racy[j];
    }
    return n;
}

void predict_random(uint32_t traces, maker_fn make, const struct rb_engine_ops *engine, order_fn order)
{
    static struct random_trace t;
    static struct subject s;
    static struct expected x;
    uint32_t racy = 0, ordered = 0;

    for (uint64_t seed = 1; seed <= traces; seed++) {
        make(&t, seed);
        open_with(&s, &t, order);
        expect_taken(&x, &s, "all", seed);
        must_hold(&s, &x, engine, "random", seed);
        racy += x.racy_events;
        ordered += ordered_conflicts(&s, &x);
        expect_taken(&x, &s, samplers[seed % RB_LENGTH(samplers)], seed);
        must_hold(&s, &x, engine, "random", seed);
        subject_close(&s);
    }
    assert_true(racy > traces / 4 && ordered > traces / 20); // the traces can tell
}

// 0, or what the engine said. Locks of these traces keep the discipline.
static int feed_all(const struct rb_predictor_ops *ops, const struct random_trace *t, size_t limit)
{
    struct rb_arena arena;
    int status = -ENOMEM;

    rb_arena_init(&arena, limit);
    const struct rb_predict_world world = {.threads = THREADS,
                                           .locks = LOCKS + 1,
                                           .variables = 5,
                                           .locations = 1,
                                           .events = t->count,
                                           .arena = &arena};
    struct rb_predictor *p = ops->open(&world);
    for (uint32_t i = 0; p && i < t->count; i++) {
        struct rb_partner partner;
        status = ops->event(p, &t->event[i], i, true, &partner);
        if (status < 0)
            break;
    }
    if (p)
        ops->close(p);
    rb_arena_destroy(&arena);
    return status;
}

void predict_starving(const struct rb_predictor_ops *ops)
{
    static struct random_trace t;
    uint32_t starved = 0, fed = 0;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        predict_longer_sections(&t, seed);
        for (size_t limit = 0; limit < (size_t)1 << 18; limit += 4096) {
            const int status = feed_all(ops, &t, limit);
            assert_true(status == 0 || status == -ENOMEM);
            starved += status < 0;
            fed += status == 0;
        }
    }
    assert_true(starved > 100 && fed > 20);
}
