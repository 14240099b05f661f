// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests the samplers of the running program without a program: simulated threads take turns on this thread,
// and access_at() makes an access as rb_access does. A policy that also runs on traces must decide as it
// does there. Shares are checked within five standard deviations, with fixed seeds.
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "engine/oracle_check.h"
#include "inproc/modules.h"
#include "run/access/access.h"
#include "run/access/address_filter.h"
#include "run/core/upcalls.h"
#include "run/record/record.h"
#include "run/sampler/sampling.h"
#include "run/watchpoint/watchpoints.h"
#include "sample/periods.h"

// The section of hooks that run/sites/sites.c expects.
__attribute__((section("rb_hooks"), used)) static void no_hook(void)
{
}

// ---- stubs for the parts of the runtime that samplers use ----------------------------------------------

RB_TLS struct rb_self *rb_self_tls;
RB_TLS int64_t rb_skip;
RB_TLS int64_t rb_unpatched_skip;
struct rb_process rb_process;
bool rb_recording;
static uintptr_t module_bias;
static const char *module_path = "/lib/x.so";
uint64_t rb_unwind_generation_now;
static bool no_module;

struct rb_self *rb_self_make(void)
{
    return NULL;
}

void rb_deliver_deferred(struct rb_self *me)
{
    (void)me;
}

// This test has no breakpoints.
const struct rb_policy rb_policy_crsampler = {.ops = &rb_sample_crsampler};
const struct rb_policy rb_policy_datacollider = {.ops = &rb_sample_datacollider};

void rb_watchpoints_open(void)
{
}

void rb_watchpoints_turn(int64_t earned, bool open)
{
    (void)earned;
    (void)open;
}

void rb_rmw_switch(bool on)
{
    (void)on;
}

void rb_watchpoints_pause(void)
{
}

uint64_t rb_watchpoints_spent(void)
{
    return 0;
}

bool rb_module_of(uintptr_t address, struct rb_module *m)
{
    (void)address;
    *m = (struct rb_module){.path = module_path, .bias = module_bias};
    return !no_module;
}

#define THREADS  4u
#define STACK_LO 0x100000u
#define STACK_HI 0x200000u

static struct rb_self selves[THREADS], *now;

// Switches to thread t.
static struct rb_self *as(uint32_t t)
{
    if (now)
        now->fiber_skip = rb_skip;
    rb_self_tls = now = &selves[t];
    rb_skip = now->fiber_skip;
    return now;
}

static void start(const char *text, uint64_t seed)
{
    const struct rb_sampler_spec spec = test_sampler(text);

    rb_options.memory = (size_t)64 << 20;
    rb_process.generation = 2;
    assert_int_equal(rb_sampling_init(&spec, seed), 0);
    now = NULL;
    for (uint32_t t = 0; t < THREADS; t++) {
        struct rb_self *me = &selves[t];
        memset(me, 0, sizeof(*me));
        me->id = t;
        me->walk.stack_lo = STACK_LO;
        me->walk.stack_hi = STACK_HI;
    }
}

static void begin(uint32_t t)
{
    as(t);
    rb_sampling_start(now);
}

static void stop(void)
{
    for (uint32_t t = 0; t < THREADS; t++)
        rb_sampling_free(&selves[t]);
    rb_arena_destroy(&rb_sampling_process.arena);
}

static enum rb_take access_at(uintptr_t pc)
{
    return --rb_skip >= 0 ? RB_PASS : rb_sampling_next(now, pc);
}

static void enter(uintptr_t function, uintptr_t stack_pointer)
{
    rb_sampling_passed(now);
    rb_sampling_grant(now, rb_sampling_process.policy->enter(now, function, stack_pointer));
}

static void leave(void)
{
    rb_sampling_passed(now);
    rb_sampling_grant(now, rb_sampling_process.policy->exit(now));
}

static uint64_t accesses(void)
{
    rb_sampling_settle(now);
    return now->count.accesses;
}

static void assert_share(uint64_t count, uint64_t n, double p)
{
    const double off = fabs((double)count - p * (double)n), sd = sqrt(p * (1 - p) * (double)n);

    if (off > 5 * sd) {
        fprintf(stderr, "%llu of %llu, expected %g\n", (unsigned long long)count, (unsigned long long)n, p);
        fail();
    }
}

// ---- the same decisions as on a trace ------------------------------------------------------------------

// Makes random calls and accesses on `threads` threads. Every decision must equal that of the trace's
// sampler, and every access must be counted.
static void compare(const char *text, uint32_t threads, uint64_t seed)
{
    enum { STEPS = 60000, FUNCTIONS = 300 };
    const struct rb_sampler_spec spec = test_sampler(text);
    const struct rb_sampler_world world = {threads, FUNCTIONS, FUNCTIONS};
    uint32_t depth[THREADS] = {0};
    uint64_t made[THREADS] = {0}, gap = 0;
    struct rb_sampler s;
    struct rb_rng rng;

    start(text, seed);
    assert_int_equal(rb_sampler_start(&s, &spec, &world, seed), 0);
    if (s.ops->gap)
        gap = s.ops->gap(&s);
    for (uint32_t t = 0; t < threads; t++)
        begin(t);
    rb_rng_seed(&rng, seed + 77);
    for (uint32_t i = 0; i < STEPS; i++) {
        const uint32_t t = (uint32_t)rb_rng_below(&rng, threads), what = (uint32_t)rb_rng_below(&rng, 4);
        const uint64_t function = rb_rng_below(&rng, rb_rng_below(&rng, FUNCTIONS) + 1);
        enum rb_take expected = s.ops->between;
        as(t);
        if (what == 0 && depth[t] < 100 && s.ops->enter) {
            s.ops->enter(&s, t, function);
            enter(0x5000 + 16 * function, STACK_HI - 64 * ++depth[t]);
        } else if (what == 1 && depth[t] > 0 && s.ops->exit) {
            s.ops->exit(&s, t);
            leave();
            depth[t]--;
        } else {
            if (s.ops->ask)
                expected = s.ops->ask(&s, t, 0);
            else if (gap == 0) {
                expected = RB_TAKE;
                gap = s.ops->gap(&s);
            } else {
                gap -= gap != RB_GAP_END;
            }
            made[t]++;
            if (access_at(0x7000) != expected) {
                fprintf(stderr, "%s: step %u differs\n", text, i);
                fail();
            }
        }
    }
    for (uint32_t t = 0; t < threads; t++) {
        as(t);
        assert_true(accesses() == made[t]);
    }
    rb_sampler_stop(&s);
    stop();
}

static void same_as_on_a_trace(void **state)
{
    // Random policies run on one thread: a trace has one generator for all threads, the runtime one for
    // each.
    static const char *const alone[] = {"all",          "none",     "random:0.3",   "random:0.01",
                                        "rnd10",        "rnd25",    "pacer:0.3,64", "pacer:0.4,5",
                                        "random:0",     "random:1", "pacer:0,7",    "pacer:1",
                                        "pacer:0.1,640"};
    static const char *const together[] = {"literace", "tl-fx", "g-ad", "g-fx", "ucp"};

    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        for (size_t i = 0; i < RB_LENGTH(alone); i++)
            compare(alone[i], 1, seed);
        for (size_t i = 0; i < RB_LENGTH(together); i++) {
            compare(together[i], 1, seed);
            compare(together[i], THREADS, seed);
        }
    }
}

static void every_sampler(void **state)
{
    (void)state;
    for (int i = 0; rb_samplers[i]; i++) {
        const struct rb_sampler_spec spec = {.ops = rb_samplers[i], .p = 0.5, .delta = 0.5, .length = 64};
        rb_options.memory = (size_t)64 << 20;
        assert_int_equal(rb_sampling_init(&spec, 1), 0);
        assert_true(rb_functions_wanted == spec.ops->wants_functions);
        assert_true(rb_process.windows == spec.ops->windows);
        assert_true(rb_process.take_all == spec.ops->takes_all);
    }
}

// Each thread has a generator of its own; the same seed and number give the same decisions.
static void seeds(void **state)
{
    enum { N = 20000 };
    static enum rb_take take[3][N];
    static const char *const text[] = {"random:0.2", "rnd25"};

    (void)state;
    for (size_t i = 0; i < RB_LENGTH(text); i++) {
        for (uint32_t run = 0; run < 3; run++) {
            start(text[i], run == 2 ? 6 : 5);
            begin(1);
            for (uint32_t k = 0; k < N; k++) {
                if (k % 8 == 0 && rb_functions_wanted)
                    enter(0x1000, STACK_HI - 100);
                take[run][k] = access_at(1);
            }
            stop();
        }
        assert_memory_equal(take[0], take[1], sizeof(take[0]));
        assert_memory_not_equal(take[0], take[2], sizeof(take[0]));
    }
    start("random:0.2", 5);
    begin(2);
    for (uint32_t k = 0; k < N; k++)
        take[2][k] = access_at(1);
    assert_memory_not_equal(take[0], take[2], sizeof(take[0]));
    stop();
}

// A context that runs later does not change the running thread's gap.
static void contexts(void **state)
{
    (void)state;
    start("random:0.001", 3);
    begin(0);
    const int64_t skip = rb_skip;
    rb_sampling_start(&selves[1]);
    assert_true(rb_skip == skip && selves[1].granted == selves[1].fiber_skip);
    assert_int_equal(rb_sampling_process.alive, 1);
    stop();
    assert_int_equal(rb_sampling_process.alive, 0);
}

// ---- open calls ----------------------------------------------------------------------------------------

// Makes a function warm by ten calls, for ucp. After that the decisions show which call is the innermost.
static void warm(uintptr_t function)
{
    for (int i = 0; i < 10; i++) {
        enter(function, STACK_HI - 16);
        leave();
    }
}

static void calls_never_left(void **state)
{
    (void)state;
    start("ucp", 1);
    begin(0);
    warm(0x10);
    enter(0x10, STACK_HI - 100);
    enter(0x20, STACK_HI - 200);
    enter(0x30, STACK_HI - 300);
    assert_int_equal(access_at(1), RB_PASS);
    enter(0x10, STACK_HI - 200); // longjmp from 0x30 to 0x10, which calls again
    assert_int_equal(access_at(1), RB_TAKE);
    leave();
    assert_int_equal(access_at(1), RB_TAKE); // in the outer one, not in 0x20
    leave();
    assert_int_equal(access_at(1), RB_PASS); // outside
    for (uint32_t i = 0; i < 100000; i++) {  // the depth does not drift
        enter(0x10, STACK_HI - 100);
        enter(0x20, STACK_HI - 200);
    }
    assert_true(now->sampling.depth == 2 && now->sampling.beyond == 0);

    enter(0x10, 0x900000); // a handler on a stack of its own, above
    assert_int_equal(access_at(1), RB_TAKE);
    enter(0x40, 0x8fff00);
    leave();
    assert_int_equal(now->sampling.depth, 3);
    enter(0x40, STACK_HI - 300); // the handler was left by longjmp
    assert_int_equal(now->sampling.depth, 3);
    leave();
    leave();
    leave();
    leave(); // more exits than open calls
    assert_int_equal(now->sampling.depth, 0);
    stop();
}

static void calls_too_deep(void **state)
{
    enum { DEEP = 10000 };

    (void)state;
    start("ucp", 1);
    begin(0);
    warm(0x10);
    for (uint32_t i = 0; i < DEEP; i++)
        enter(i == 4095 ? 0x10 : 0x20 + i, STACK_HI - 16 * (i + 1));
    assert_int_equal(access_at(1), RB_TAKE); // as the deepest known call
    for (uint32_t i = 0; i < DEEP - 4096; i++)
        leave();
    assert_int_equal(access_at(1), RB_TAKE);
    leave();
    assert_int_equal(access_at(1), RB_PASS);
    for (uint32_t i = 4095; i < DEEP; i++)
        enter(0x20, STACK_HI - 16 * (i + 1));
    enter(0x10, STACK_HI - 32); // longjmp from a call that is too deep
    assert_true(now->sampling.depth == 2 && now->sampling.beyond == 0);
    stop();
}

// ---- functions and memory ------------------------------------------------------------------------------

// Many threads, one after the other, use the memory of one.
static void threads_come_and_go(void **state)
{
    size_t mapped = 0;

    (void)state;
    start("literace", 1);
    for (uint32_t i = 0; i < 20000; i++) {
        memset(&selves[0], 0, sizeof(selves[0]));
        begin(0);
        for (uint32_t f = 0; f < 100; f++)
            enter(16 * (f + 1), 1);
        rb_sampling_end(now);
        if (i == 10)
            mapped = rb_sampling_process.arena.mapped;
    }
    assert_true(mapped > 0 && rb_sampling_process.arena.mapped == mapped);
    assert_true(rb_sampling_process.alive == 0 && rb_sampling_process.most_alive == 1);
    stop();
}

static void too_many_functions(void **state)
{
    static const char *const text[] = {"tl-fx", "g-fx"};

    (void)state;
    for (size_t i = 0; i < RB_LENGTH(text); i++)
        for (int small = 0; small < 2; small++) {
            start(text[i], 1);
            if (small)
                rb_sampling_process.arena.limit = 0;
            begin(0);
            for (uint32_t round = 0; round < 3; round++)
                for (uintptr_t f = 1; f <= 100000; f++) {
                    enter(16 * f, 1);
                    leave();
                }
            assert_true((now->count.crowded > 0) == !small); // without memory no call is opened
            stop();
        }
}

static void *call_often(void *given)
{
    uint64_t *taken = given;
    static struct rb_self me[THREADS];
    static uint32_t next;

    rb_self_tls = &me[rb_fetch_add_relaxed(&next, 1) % THREADS];
    memset(rb_self_tls, 0, sizeof(*rb_self_tls));
    rb_sampling_start(rb_self_tls);
    for (uint32_t i = 0; i < 100000; i++) {
        rb_sampling_enter(0, 0x40);
        *taken += rb_skip == 0;
        rb_sampling_exit();
    }
    rb_sampling_end(rb_self_tls);
    return NULL;
}

// All threads together: ten of every hundred calls are taken, on any thread.
static void counted_by_all(void **state)
{
    pthread_t thread[THREADS];
    uint64_t taken[THREADS] = {0}, sum = 0;

    (void)state;
    start("g-fx", 1);
    rb_sampling_process.arena.limit = (size_t)1 << 20;
    for (uint32_t t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&thread[t], NULL, call_often, &taken[t]), 0);
    for (uint32_t t = 0; t < THREADS; t++) {
        pthread_join(thread[t], NULL);
        sum += taken[t];
    }
    assert_true(sum == THREADS * 100000 / 10);
    assert_true(rb_sampling_process.most_alive <= THREADS && rb_sampling_process.alive == 0);
    stop();
}

// ---- pacer ---------------------------------------------------------------------------------------------

// Two threads take turns: each access is recorded with probability P, and all of a batch are treated alike.
static void periods(void **state)
{
    enum { N = 1000000 };
    uint64_t taken = 0;
    enum rb_take last[2] = {RB_PASS, RB_PASS};

    (void)state;
    start("pacer:0.2,128", 9);
    begin(0);
    begin(1);
    for (uint32_t i = 0; i < N; i++) {
        as(i % 2);
        const enum rb_take take = access_at(1);
        assert_true(take == RB_TAKE || take == RB_CHECK);
        if (i / 2 % 64)
            assert_int_equal(take, last[i % 2]);
        last[i % 2] = take;
        taken += take == RB_TAKE;
    }
    assert_share(taken / 128, N / 128, 0.2);
    assert_true(rb_sampling_piece() == SIZE_MAX);
    stop();
}

// ---- static --------------------------------------------------------------------------------------------

static void places(void **state)
{
    enum { N = 200000 };
    static bool chosen[N];
    uint64_t count = 0, other = 0;

    (void)state;
    module_bias = 0;
    start("static:0.25", 4);
    begin(0);
    for (uintptr_t i = 0; i < N; i++) {
        const enum rb_take take = access_at(0x1000 + 5 * i);
        chosen[i] = take == RB_TAKE;
        count += chosen[i];
        for (int again = 0; again < 2; again++)
            assert_int_equal(access_at(0x1000 + 5 * i), take);
    }
    assert_share(count, N, 0.25);
    assert_true(accesses() == 3 * N);
    for (uintptr_t i = 0; i < N; i++) // the same answers, with or without the cache
        assert_true((access_at(0x1000 + 5 * i) == RB_TAKE) == chosen[i]);
    stop();

    module_bias = 0x7f0000000000; // the same code elsewhere
    start("static:0.25", 4);
    begin(0);
    for (uintptr_t i = 0; i < N; i++)
        assert_true((access_at(module_bias + 0x1000 + 5 * i) == RB_TAKE) == chosen[i]);
    stop();

    start("static:0.25", 4); // another library at this address after a dlclose gets answers of its own
    begin(0);
    for (uint64_t g = 0, both = 0, of_y = 0; g < 4; g++, rb_unwind_generation_now++, both = of_y = 0) {
        module_path = g % 2 ? "/lib/x.so" : "/lib/y.so";
        for (uintptr_t i = 0; i < N / 4; i++) {
            const bool taken = access_at(module_bias + 0x1000 + 5 * i) == RB_TAKE;
            assert_true(g % 2 == 0 || taken == chosen[i]);
            both += taken && chosen[i];
            of_y += taken;
        }
        if (g % 2 == 0)
            assert_share(both, of_y, 0.25);
    }
    rb_unwind_generation_now = 0;
    module_path = "/lib/x.so";
    stop();

    start("static:0.25", 5); // another seed: another subset
    begin(0);
    for (uintptr_t i = 0; i < N; i++)
        other += (access_at(module_bias + 0x1000 + 5 * i) == RB_TAKE) && chosen[i];
    assert_share(other, count, 0.25);
    stop();

    no_module = true;
    for (int p = 0; p < 2; p++) {
        start(p ? "static:1" : "static:0", 4);
        begin(0);
        for (uintptr_t i = 1; i < 1000; i++)
            assert_int_equal(access_at(i), p ? RB_TAKE : RB_PASS);
        stop();
    }
    no_module = false;
}

// ---- rpt -----------------------------------------------------------------------------------------------

static void numbers(void **state)
{
    (void)state;
    for (double x = 1e-300; x < 1e300; x *= 1.37)
        assert_true(fabs(rb_ln(x) - log(x)) <= 4e-16 * fmax(1, fabs(log(x))));
    for (double eps = 1; eps > 1e-6; eps *= 0.83)
        for (double delta = 0.99; delta > 1e-12; delta *= 0.71)
            assert_true(rb_rpt_windows(eps, delta) == (uint64_t)ceil(-15 * log(delta) / (2 * eps)));
    assert_true(rb_rpt_m(8, 3) == 38 && rb_rpt_window(38, 0.01) == 15200 &&
                rb_rpt_beginning(38, 0.01) == 45600);
    assert_true(rb_rpt_count(2) == 2 && rb_rpt_count(2.1) == 3 && rb_rpt_count(1e300) == (uint64_t)1 << 62);
}

// One thread runs alone for a long time. The beginning is taken completely, then windows of at least k
// events, about r in each stage. Each window forgets the history; synchronisation is processed inside
// windows only.
static void windows(void **state)
{
    const double eps = 0.5, delta = 0.2;
    const uint64_t k = rb_rpt_window(4, eps), r = rb_rpt_windows(eps, delta);
    enum { STAGES = 14 };
    uint64_t at = 0, opened = 0, taken = 0, run = 0, stages = 0;
    uint32_t generation = 2;

    (void)state;
    start("rpt:0.5,0.2", 12);
    begin(0);
    for (uint64_t i = 0; i < rb_rpt_beginning(4, eps); i++)
        assert_int_equal(access_at(1), RB_TAKE);
    for (at = 2048; stages < STAGES; at++) { // the beginning's end comes after a batch or two
        const enum rb_take take = access_at(1);
        if (take == RB_TAKE) {
            run++;
            taken++;
        } else if (run) {
            assert_true(run >= k || opened == 0); // the first run is the rest of the beginning
            run = 0;
        }
        if (rb_process.generation != generation) {
            assert_true(rb_process.generation == generation + 2 && run == 1);
            generation = rb_process.generation;
            opened++;
        }
        if (at % 512 == 0) // the hook agrees with the thread's state
            assert_true(rb_sampling_sync(now, 0) == !rb_sampling_quiet());
        stages += (at & (at - 1)) == 0;
    }
    assert_true(now->count.windows == opened);
    // Stages begin at the length of the beginning, not at powers of two, so `at` may hold one stage more or
    // less.
    assert_true(fabs((double)opened - (double)(r * STAGES)) < (double)r + 5 * sqrt((double)(r * STAGES)));
    assert_true(taken < 3 * r * STAGES * (k + 4 * 64));
    stop();
}

// A thread sees a window of another thread at its next synchronisation operation, or within a batch.
static void others_notice(void **state)
{
    (void)state;
    start("rpt:0.5,0.9", 3);
    begin(0);
    begin(1);
    as(0);
    while (!rb_sampling_quiet())
        access_at(1);
    as(1);
    assert_false(rb_sampling_sync(now, 0));
    assert_true(rb_skip >= 63);
    as(0);
    while (rb_sampling_quiet())
        access_at(1);
    as(1);
    for (int i = 0; i < 10; i++)
        assert_int_equal(access_at(1), RB_PASS); // not noticed yet
    assert_true(rb_sampling_sync(now, 0));
    assert_int_equal(access_at(1), RB_TAKE);
    assert_true(accesses() == 11);
    rb_recording = true;
    while (!rb_sampling_quiet())
        access_at(1);
    assert_true(rb_sampling_sync(now, 0)); // a trace contains all synchronisation
    rb_recording = false;
    assert_false(rb_sampling_sync(now, 0));
    stop();
}

// The child of fork starts anew, with other random numbers.
static void after_fork(void **state)
{
    static const char *const text[] = {"rpt:0.5,0.5", "pacer:0.5", "g-ad", "literace", "static:0.5"};

    (void)state;
    for (size_t i = 0; i < RB_LENGTH(text); i++) {
        start(text[i], 8);
        begin(0);
        for (uint32_t k = 0; k < 100000; k++) {
            if (rb_functions_wanted && k % 4 == 0)
                enter(0x10, STACK_HI - 100);
            access_at(1);
        }
        memset(&selves[0], 0, sizeof(selves[0]));
        rb_sampling_reset_after_fork();
        assert_true(rb_sampling_process.seed != 8 && rb_sampling_process.alive == 0);
        begin(0);
        if (rb_functions_wanted) {
            enter(0x10, STACK_HI - 100);
            assert_int_equal(access_at(1), RB_TAKE); // cold again
        } else if (rb_process.windows) {
            assert_int_equal(access_at(1), RB_TAKE); // the beginning
        } else {
            access_at(1);
        }
        assert_true(accesses() == 1);
        stop();
    }
}

// For any random number, one unit in 64 is taken. Only code that the thread knows to be hot is passed over,
// for at most RB_FILTER_MOST accesses in a row.
static void thinned(void **state)
{
    const uintptr_t hot = 0x401238, cold = 0x401438; // same slot of rb_common
    struct rb_rng rng;

    (void)state;
    rb_rng_seed(&rng, 4);
    rb_skip = -1;
    *rb_common_place(hot) = hot;
    assert_false(rb_filter_passes(0x10000, 8, hot));
    for (unsigned k = 0; k < 20; k++) {
        const uint32_t units = 100000;
        uint32_t looked = 0;
        rb_filter_begin(rb_rng_next(&rng));
        for (uintptr_t u = 0; u < units; u++) {
            const uintptr_t address = 0x7f0000000000u + (u << RB_FILTER_UNIT);
            const bool passes = rb_filter_passes(address, 4, hot);
            looked += !passes;
            assert_true(rb_filter_passes(address + 8, 8, hot) == passes); // the other half
            assert_true(rb_filter_passes(address, 16, hot) == passes);    // both
            assert_false(rb_filter_passes(address, 17, hot));             // a range
            assert_false(rb_filter_passes(address, 4, cold));
            rb_skip = -RB_FILTER_MOST - 1;
            assert_false(rb_filter_passes(address, 4, hot));
            rb_skip = -1;
        }
        assert_in_range(looked, units / 64 - 200, units / 64 + 200);
    }
    rb_filter_end();
    assert_false(rb_filter_passes(0x10000, 8, hot));
    *rb_common_place(hot) = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sampler),
        cmocka_unit_test(same_as_on_a_trace),
        cmocka_unit_test(seeds),
        cmocka_unit_test(contexts),
        cmocka_unit_test(calls_never_left),
        cmocka_unit_test(calls_too_deep),
        cmocka_unit_test(threads_come_and_go),
        cmocka_unit_test(too_many_functions),
        cmocka_unit_test(counted_by_all),
        cmocka_unit_test(periods),
        cmocka_unit_test(places),
        cmocka_unit_test(numbers),
        cmocka_unit_test(windows),
        cmocka_unit_test(others_notice),
        cmocka_unit_test(after_fork),
        cmocka_unit_test(thinned),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
