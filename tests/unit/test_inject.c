// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Injection: the verifier against the enumeration of all reorderings, then the scheduler and the solver
// against the verifier, on small random traces with every kind of event; and what the solver proves against
// the enumeration.
#define _GNU_SOURCE 1
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine/random_trace.h"
#include "engine/reorderings.h"
#include "lab/inject/negatives.h"
#include "lab/inject/spread.h"
#include "lab/inject/verify.h"

// Traces of a test that usually takes so many; RB_TEST_TRACES scales all (default 10,000).
static uint64_t traces(uint64_t usual)
{
    const char *text = getenv("RB_TEST_TRACES");

    return usual * (text ? strtoull(text, NULL, 10) : 10000) / 10000 + 20;
}

// A random trace as the loader would give it.
static struct rb_events as_events(struct random_trace *t)
{
    struct rb_events e = {.at = t->event, .count = t->count};

    for (uint32_t i = 0; i < t->count; i++) {
        const struct rb_event *v = &t->event[i];
        uint64_t *table = &e.table[rb_table_of_space[rb_op_info[v->op].space]];
        *table = *table > v->target + 1 ? *table : v->target + 1;
        e.table[RBT_THREADS] = e.table[RBT_THREADS] > v->thread + 1u ? e.table[RBT_THREADS] : v->thread + 1u;
    }
    e.table[RBT_VARIABLES]++;
    return e;
}

static struct rb_verify_world world_of(const struct rb_events *e)
{
    return (struct rb_verify_world){.threads = e->table[RBT_THREADS],
                                    .locks = e->table[RBT_LOCKS],
                                    .variables = e->table[RBT_VARIABLES] + 1,
                                    .base_path = "base",
                                    .other_path = "other"};
}

// Do all forks come before their threads' events and joins, and all joins after? What the definition leaves
// open otherwise is decided more strictly here than in the enumeration.
static bool in_order(const struct rb_events *e)
{
    for (uint64_t i = 0; i < e->count; i++) {
        const struct rb_event *f = &e->at[i];
        if (f->op != RB_FORK && f->op != RB_JOIN)
            continue;
        for (uint64_t k = 0; k < e->count; k++)
            if (e->at[k].thread == f->target && (f->op == RB_FORK ? k < i : k > i))
                return false;
        for (uint64_t k = 0; k < i; k++)
            if ((e->at[k].op == f->op || e->at[k].op == RB_JOIN) && e->at[k].target == f->target)
                return false;
    }
    return true;
}

// Some order of all events that keeps that of each thread: far from the base, or a few swaps away.
static void shuffle(const struct rb_events *e, struct rb_rng *rng, uint32_t *order)
{
    const uint32_t n = (uint32_t)e->count;

    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint64_t swaps = 1 + rb_rng_below(rng, rb_rng_chance(rng, 0.7) ? 6 : 200); swaps > 0; swaps--) {
        const uint32_t i = (uint32_t)rb_rng_below(rng, n - 1), a = order[i], b = order[i + 1];
        if (e->at[a].thread == e->at[b].thread)
            continue;
        order[i] = b;
        order[i + 1] = a;
    }
}

static void verifier_agrees_with_enumeration(void **state)
{
    static const struct random_shape shape = {.events_min = 4,
                                              .events_max = 16,
                                              .threads_min = 2,
                                              .threads_max = 4};
    struct random_trace *t = malloc(sizeof(*t));
    struct reorderings *all = malloc(sizeof(*all));
    uint64_t right = 0, wrong = 0;

    (void)state;
    for (uint64_t seed = 0; seed < traces(10000); seed++) {
        random_trace_make(t, seed, &shape);
        const struct rb_events e = as_events(t);
        const struct rb_verify_world w = world_of(&e);
        struct rb_event other[64];
        uint32_t order[64];
        struct rb_rng rng;
        if (t->count < 2 || t->count > 40 || !in_order(&e) || !reorderings_open(all, t->event, t->count))
            continue;
        rb_rng_seed(&rng, seed);
        for (int k = 0; k < 4; k++) {
            struct rb_error error = {0};
            shuffle(&e, &rng, order);
            for (uint32_t i = 0; i < t->count; i++)
                other[i] = t->event[order[i]];
            const bool mine =
                rb_verify_reordering(&w, t->event, t->count, other, t->count, UINT64_MAX, &error) == 0;
            const bool theirs = reorderings_correct(all, order, t->count);
            if (mine != theirs) {
                random_trace_print(t, NULL, NULL);
                for (uint32_t i = 0; i < t->count; i++)
                    fprintf(stderr, " %u", order[i]);
                fail_msg("seed %lu: the verifier says %s, the enumeration %s", (unsigned long)seed,
                         mine ? "correct" : error.text, theirs ? "correct" : "not");
            }
            right += mine;
            wrong += !mine;
        }
    }
    assert_true(right > (right + wrong) / 20 && wrong > (right + wrong) / 20);
    free(t);
    free(all);
}

// ---- injected ------------------------------------------------------------------------------------------

struct lab {
    struct random_trace trace;
    struct rb_events events;
    struct rb_model model;
    struct rb_spread spread;
    struct rb_solver solver;
};

// Threads that go from one critical section to the next, some inside others, some to read, over few locks,
// with few accesses that tie them: sections can change places.
static void make_sections(struct random_trace *t, uint64_t seed)
{
    enum { THREADS = 4, LOCKS = 3 };
    uint32_t held[THREADS][2] = {{0}}, depth[THREADS] = {0}, writer[LOCKS] = {0}, readers[LOCKS] = {0};
    bool to_read[THREADS][2];
    struct rb_rng rng;

    rb_rng_seed(&rng, seed);
    t->count = 0;
    for (uint64_t left = 100 + rb_rng_below(&rng, 300); left > 0; left--) {
        const uint32_t thread = (uint32_t)rb_rng_below(&rng, THREADS),
                       lock = (uint32_t)rb_rng_below(&rng, LOCKS);
        const uint64_t what = rb_rng_below(&rng, 10);
        struct rb_event e = {.thread = thread, .op = RB_WRITE, .target = 10 + thread};
        uint32_t *d = &depth[thread];
        if (what < 3 && *d < 2 && !writer[lock] && !(*d == 1 && held[thread][0] == lock)) {
            const bool read = rb_rng_chance(&rng, 0.3);
            if (!read && readers[lock])
                continue;
            held[thread][*d] = lock;
            to_read[thread][(*d)++] = read;
            *(read ? &readers[lock] : &writer[lock]) += 1;
            e = (struct rb_event){.thread = thread, .op = read ? RB_RD_ACQ : RB_ACQUIRE, .target = lock};
        } else if (what < 6 && *d > 0) {
            const uint32_t mine = held[thread][--*d];
            const bool read = to_read[thread][*d];
            *(read ? &readers[mine] : &writer[mine]) -= 1;
            e = (struct rb_event){.thread = thread, .op = read ? RB_RD_REL : RB_RELEASE, .target = mine};
        } else if (what == 9) {
            e = (struct rb_event){.thread = thread,
                                  .op = rb_rng_chance(&rng, 0.5) ? RB_READ : RB_WRITE,
                                  .target = lock};
        }
        t->event[t->count++] = e;
    }
}

static bool lab_open(struct lab *l, uint64_t seed, const struct random_shape *shape)
{
    struct rb_error e = {0};

    if (shape)
        random_trace_make(&l->trace, seed, shape);
    else
        make_sections(&l->trace, seed);
    l->events = as_events(&l->trace);
    if (l->trace.count == 0)
        return false;
    assert_int_equal(rb_model_make(&l->model, &l->events, &e), 0);
    if (l->model.point_count == 0) {
        rb_model_free(&l->model);
        return false;
    }
    rb_solver_init(&l->solver);
    assert_true(rb_spread_alloc(&l->spread, &l->model, &l->solver));
    return true;
}

static void lab_close(struct lab *l)
{
    rb_spread_free(&l->spread);
    rb_solver_destroy(&l->solver);
    rb_model_free(&l->model);
}

// Is what the lab has in its order a right trace?
static int check_order(const struct lab *l, struct rb_verify_pair *pair, struct rb_error *e)
{
    static struct rb_event other[RANDOM_TRACE_MOST + 2];
    const struct rb_order *o = &l->spread.order;
    const struct rb_verify_world w = world_of(&l->events);

    for (uint32_t i = 0; i < o->count; i++) {
        const uint32_t event = o->event[i];
        other[i] = event < l->model.count ? l->trace.event[event]
                                          : (struct rb_event){.op = RB_WRITE,
                                                              .thread = o->thread[event - l->model.count],
                                                              .target = l->events.table[RBT_VARIABLES]};
    }
    return rb_verify_injected(&w, l->trace.event, l->trace.count, other, o->count,
                              l->events.table[RBT_VARIABLES], pair, e);
}

static void expect_right(struct lab *l, uint64_t seed, uint32_t point)
{
    struct rb_verify_pair pair;
    struct rb_error e = {0};

    if (check_order(l, &pair, &e) < 0) {
        random_trace_print(&l->trace, NULL, NULL);
        for (uint32_t i = 0; i < l->spread.order.count; i++)
            fprintf(stderr, " %u", l->spread.order.event[i]);
        fail_msg("seed %lu, point %u: %s", (unsigned long)seed, point, e.text);
    }
    assert_int_equal(pair.distance, rb_order_distance(&l->spread.order));
}

static const int never;

static void scheduler_makes_correct_orders(void **state)
{
    static const struct random_shape longer = {.events_min = 200,
                                               .events_max = 2000,
                                               .threads_min = 2,
                                               .threads_max = 8};
    struct lab *l = malloc(sizeof(*l));
    uint64_t moved = 0, reversed = 0, made = 0;

    (void)state;
    for (uint64_t seed = 0; seed < traces(3000); seed++) {
        const struct rb_spread_plan plan = {.window = 100,
                                            .bounded = seed % 3 == 0,
                                            .distance = seed % 50,
                                            .stop = &never};
        struct rb_rng rng;
        if (!lab_open(l, seed, seed % 2 ? NULL : seed % 40 ? &random_small : &longer))
            continue;
        rb_solver_interrupt(&l->solver); // the scheduler alone
        rb_rng_seed(&rng, seed);
        for (int k = 0; k < 4; k++) {
            const uint32_t point = l->model.points[rb_rng_below(&rng, l->model.point_count)];
            struct rb_spread_facts facts;
            rb_spread_pair(&l->spread, point, &plan, &rng, &facts);
            expect_right(l, seed, point);
            made++;
            moved += facts.moves > 0;
            reversed += rb_order_reversed(&l->spread.order) > 0;
        }
        lab_close(l);
    }
    print_message("%lu orders, %lu moved, %lu with sections reversed\n", (unsigned long)made,
                  (unsigned long)moved, (unsigned long)reversed);
    assert_true(moved > made / 2);
    assert_true(reversed > made / 10);
    free(l);
}

static void solver_makes_correct_orders(void **state)
{
    static const struct random_shape shape = {.events_min = 10,
                                              .events_max = 60,
                                              .threads_min = 2,
                                              .threads_max = 5};
    struct lab *l = malloc(sizeof(*l));
    uint64_t changed[2] = {0}, calls = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 120; seed++) {
        if (!lab_open(l, 77000 + seed, &shape))
            continue;
        struct rb_rng rng;
        rb_rng_seed(&rng, seed);
        for (int paper = 0; paper < 2; paper++) {
            const uint32_t point = l->model.points[rb_rng_below(&rng, l->model.point_count)];
            struct rb_order *o = &l->spread.order;
            struct rb_solver_counts counts = {0};
            rb_order_start(o, &l->model, point);
            for (int k = 0; k < 3; k++) {
                const uint32_t first = l->model.count + (seed & 1), other = 2 * l->model.count + 1 - first;
                const uint32_t width = o->count < 20 ? o->count : 20, at = o->place[k == 1 ? first : other];
                const uint32_t from = at > width / 2 ? at - width / 2 : 0, before = rb_order_distance(o);
                const uint32_t begin = from + width <= o->count ? from : o->count - width;
                if (rb_solver_widen(&l->solver, o, begin, begin + width, first, UINT32_MAX / 2, paper,
                                    &counts)) {
                    changed[paper]++;
                    assert_true(o->place[first] < o->place[other] && rb_order_distance(o) > before);
                }
                expect_right(l, seed, point);
            }
            calls += counts.calls;
        }
        lab_close(l);
    }
    assert_true(changed[0] > 30 && changed[1] > 30 && calls > 200);
    free(l);
}

// With the whole trace as the window, "never" and "found" are what trying all reorderings says.
static void proofs_agree_with_enumeration(void **state)
{
    static const struct random_shape shape = {.events_min = 8,
                                              .events_max = 22,
                                              .threads_min = 2,
                                              .threads_max = 4};
    struct reorderings *all = malloc(sizeof(*all));
    struct lab *l = malloc(sizeof(*l));
    uint64_t found = 0, never_meet = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 250; seed++) {
        if (!lab_open(l, 5000 + seed, &shape))
            continue;
        const bool judge = in_order(&l->events) && reorderings_open(all, l->trace.event, l->trace.count);
        struct rb_order *o = &l->spread.order;
        unsigned left = 6;
        rb_order_start(o, &l->model, l->model.points[0]);
        for (uint32_t j = 0; judge && j < l->trace.count; j++)
            for (uint32_t i = 0; i < j && left > 0; i++) {
                const struct rb_event *a = &l->trace.event[i], *b = &l->trace.event[j];
                struct rb_solver_counts counts = {0};
                if (a->op > RB_WRITE || b->op > RB_WRITE || a->target != b->target ||
                    a->thread == b->thread || (a->op == RB_READ && b->op == RB_READ))
                    continue;
                left--;
                const enum rb_meeting m =
                    rb_solver_meeting(&l->solver, o, 0, o->count, o->place[i], o->place[j], &counts);
                const bool races = reorderings_predictable(all, i, j);
                if ((m == RB_MEETING_FOUND) != races || m == RB_MEETING_OPEN) {
                    random_trace_print(&l->trace, NULL, NULL);
                    fail_msg("seed %lu: events %u and %u: the solver says %d, the enumeration %s",
                             (unsigned long)seed, i, j, (int)m, races ? "race" : "no race");
                }
                found += races;
                never_meet += !races;
            }
        lab_close(l);
    }
    assert_true(found > 100 && never_meet > 100);
    free(all);
    free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verifier_agrees_with_enumeration),
        cmocka_unit_test(scheduler_makes_correct_orders),
        cmocka_unit_test(solver_makes_correct_orders),
        cmocka_unit_test(proofs_agree_with_enumeration),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
