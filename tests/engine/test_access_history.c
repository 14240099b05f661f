// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a cell remembers, step by step; and what happens at the two ends an engine can run into, memory and
// local time: accesses go unrecorded or the engine goes blind, and nothing false is ever reported.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/access_history.h"
#include "engine/oracle_check.h"

#define THREADS 8u

// ---- one cell ------------------------------------------------------------------------------------------

static struct world {
    struct rb_arena arena;
    struct rb_engine engine;
    struct rb_thread thread[THREADS];
    struct rb_sync sync;
    struct rb_cell cell;
} w;

static const struct rb_engine_ops *const exact[] = {&rb_djit, &rb_st, &rb_su, &rb_so};

static void open_world(const struct rb_engine_ops *ops)
{
    memset(&w, 0, sizeof(w));
    rb_arena_init(&w.arena, SIZE_MAX);
    w.engine = (struct rb_engine){.ops = ops, .arena = &w.arena, .width = THREADS};
    for (uint32_t i = 0; i < THREADS; i++) {
        w.thread[i].slot = i;
        assert_int_equal(ops->thread_start(&w.engine, &w.thread[i]), 0);
    }
}

static void close_world(void)
{
    rb_arena_destroy(&w.arena);
}

// Everything `from` did is now before what `to` does.
static void order(uint32_t from, uint32_t to)
{
    w.engine.ops->release_store(&w.engine, &w.thread[from], &w.sync);
    w.engine.ops->acquire(&w.engine, &w.thread[to], &w.sync);
}

// An access; returns the place of the earlier side of the race, 0 for none.
static uint64_t go(uint32_t thread, bool write, uint64_t where, bool record)
{
    struct rb_partner p = {.epoch = 1};

    w.engine.ops->access(&w.engine, &w.thread[thread], &w.cell, (struct rb_access){where, write}, record, &p);
    return p.epoch ? p.where : 0;
}

static uint64_t write_at(uint32_t thread, uint64_t where)
{
    return go(thread, true, where, true);
}

static uint64_t read_at(uint32_t thread, uint64_t where)
{
    return go(thread, false, where, true);
}

static bool is_list(void)
{
    return w.cell.write & RB_EPOCH_MANY;
}

static bool holds_write(uint32_t thread, uint64_t where)
{
    return !is_list() && w.cell.write && rb_epoch_is_write(w.cell.write) &&
           rb_epoch_slot(w.cell.write) == thread && w.cell.write_where == where;
}

static bool holds_read(uint32_t thread, uint64_t where)
{
    return !is_list() && w.cell.read && !rb_epoch_is_write(w.cell.read) &&
           rb_epoch_slot(w.cell.read) == thread && w.cell.read_where == where;
}

static void one_thread(void)
{
    assert_int_equal(read_at(0, 1), 0);
    assert_true(w.cell.write == 0 && holds_read(0, 1));
    assert_int_equal(write_at(0, 2), 0); // a write is worth more than the read before it
    assert_true(holds_write(0, 2) && w.cell.read == 0);
    assert_int_equal(read_at(0, 3), 0); // a read is not worth more than the write before it
    assert_true(holds_write(0, 2) && holds_read(0, 3));
    assert_int_equal(read_at(0, 4), 0);
    assert_true(holds_write(0, 2) && holds_read(0, 4));
}

static void ordered_accesses(void)
{
    write_at(0, 1);
    order(0, 1);
    assert_int_equal(read_at(1, 2), 0);
    assert_true(holds_write(0, 1) && holds_read(1, 2));
    order(1, 2);
    assert_int_equal(write_at(2, 3), 0);
    assert_true(holds_write(2, 3) && w.cell.read == 0);
}

static void after_its_release(void)
{
    write_at(0, 1);
    order(0, 1);
    write_at(0, 2); // another epoch: not handed over
    assert_int_equal(read_at(1, 3), 2);
    assert_true(holds_write(0, 2) && holds_read(1, 3)); // a read beside a write it races with fits as well
    order(0, 1);
    assert_int_equal(read_at(1, 4), 0);
}

static void racing_writes(void)
{
    write_at(0, 1);
    assert_int_equal(write_at(1, 2), 1);
    assert_true(is_list());
    assert_int_equal(read_at(2, 3), 2); // the latest of the two
    order(1, 3);
    assert_int_equal(read_at(3, 4), 1);
    assert_int_equal(write_at(1, 5), 4); // thread 3's read is the latest that is not ordered
    order(0, 4);
    order(1, 4);
    order(2, 4);
    order(3, 4);
    assert_int_equal(write_at(4, 6), 0); // all of them forgotten
    assert_true(holds_write(4, 6) && w.cell.read == 0);
}

static void shared_reads(void)
{
    write_at(0, 1);
    for (uint32_t i = 1; i < THREADS; i++) {
        order(0, i);
        assert_int_equal(read_at(i, 10 + i), 0);
    }
    assert_true(is_list());
    for (uint32_t i = 2; i < THREADS; i++)
        order(i, 0);
    assert_int_equal(write_at(0, 2), 11); // thread 1's read alone is left
    assert_true(is_list());               // a read before a write has no inline shape
    order(1, 0);
    assert_int_equal(write_at(0, 3), 0);
    assert_true(holds_write(0, 3));
}

// PACER's look outside of its periods.
static void checks(void)
{
    assert_int_equal(go(1, true, 1, false), 0);
    assert_true(w.cell.write == 0 && w.cell.read == 0);

    write_at(0, 2);
    read_at(0, 3);
    assert_int_equal(go(1, false, 4, false), 2);
    assert_true(holds_write(0, 2) && holds_read(0, 3)); // reported, not recorded, nothing dominated
    order(0, 1);
    assert_int_equal(go(1, false, 5, false), 0);
    assert_true(holds_write(0, 2) && w.cell.read == 0); // a read makes earlier reads needless
    assert_int_equal(go(1, true, 6, false), 0);
    assert_true(w.cell.write == 0 && w.cell.read == 0); // a write everything

    write_at(0, 7);
    assert_int_equal(write_at(1, 8), 7);
    order(0, 2);
    assert_int_equal(go(2, true, 9, false), 8);
    assert_true(holds_write(1, 8)); // from the list as well
    assert_false(w.thread[2].sampled);
}

static void blind(void)
{
    write_at(0, 1);
    w.engine.blind = true;
    assert_int_equal(write_at(1, 2), 0);
    assert_true(holds_write(0, 1));
}

// What is forgotten is used again: no growth, however long.
static void memory_returns(void)
{
    for (uint32_t round = 0; round < 20000; round++) {
        for (uint32_t i = 0; i < THREADS; i++)
            write_at(i, i + 1);
        assert_true(is_list());
        w.engine.ops->cell_clear(&w.engine, &w.cell);
        assert_true(w.cell.write == 0 && w.cell.read == 0);
    }
    assert_true(w.arena.mapped <= 1 << 20);
    for (uint32_t round = 0; round < 100000; round++) // at most a read and a write of each thread
        go(round % 7 % THREADS, round % 3 == 0, round + 1, true);
    assert_true(w.arena.mapped <= 1 << 20);
    assert_true(is_list());
}

static void cell(void **state)
{
    static void (*const step[])(void) = {one_thread,    ordered_accesses, after_its_release,
                                         racing_writes, shared_reads,     checks,
                                         blind,         memory_returns};

    (void)state;
    for (size_t e = 0; e < RB_LENGTH(exact); e++) {
        for (size_t i = 0; i < RB_LENGTH(step); i++) {
            open_world(exact[e]);
            step[i]();
            close_world();
        }
    }
}

// ---- out of memory -------------------------------------------------------------------------------------

// The engine may have this many lines of 64 bytes from its first thread on.
static struct {
    const struct rb_engine_ops *ops;
    uint32_t lines;
    bool narrow; // clocks start small and have to grow
    bool set;
} budget;

static int start_on_budget(struct rb_engine *e, struct rb_thread *t)
{
    struct rb_arena *a = e->arena;

    if (!budget.set && (size_t)(a->bump_end - a->bump) > budget.lines * 64) {
        a->bump_end = a->bump + budget.lines * 64;
        a->limit = a->mapped;
    }
    budget.set = true;
    if (budget.narrow)
        e->width = t->slot + 1;
    return budget.ops->thread_start(e, t);
}

static void memory(void **state)
{
    static const char *const samplers[] = {"all", "random:0.3", "pacer:0.4,5"};
    static struct random_trace t;
    static struct subject s;
    static struct expected x;
    static struct report p;
    const uint32_t n = test_traces(4000);
    uint32_t ended = 0, starved = 0, enough = 0;

    (void)state;
    for (uint32_t i = 0; i < n; i++) {
        const struct rb_sampler_spec spec = test_sampler(samplers[i % RB_LENGTH(samplers)]);
        random_trace_make(&t, 7000000 + i, &random_small);
        subject_open(&s, &t);
        expect(&x, &s, &spec, i);
        for (int e = 0; rb_engines[e]; e++) {
            struct rb_engine_ops ops = *rb_engines[e];
            ops.thread_start = start_on_budget;
            budget.ops = rb_engines[e];
            budget.set = false;
            budget.lines = i / 8 % 100;
            budget.narrow = i / 4 % 2;
            report_make(&p, &s, &ops, &x, true);
            const char *wrong = report_check_true(&p, &s, &x);
            if (!wrong && p.status == 0 && p.result.starved == 0)
                wrong = budget.ops == &rb_fasttrack ? report_check_first(&p, &s, &x)
                                                    : report_check_exact(&p, &s, &x);
            if (wrong) {
                fprintf(stderr, "seed %u, %u lines: ", 7000000 + i, budget.lines);
                report_print(&p, &s, &x, ops.name, wrong);
                fail();
            }
            if (p.status < 0)
                assert_non_null(strstr(p.error.text, "out of memory"));
            ended += p.status < 0;
            starved += p.status == 0 && p.result.starved > 0;
            enough += p.status == 0 && p.result.starved == 0;
            report_free(&p);
        }
        subject_close(&s);
    }
    print_message("%u runs ended by an edge that had no room, %u passed over accesses, %u had enough\n",
                  ended, starved, enough);
    assert_true(n < 100 || (ended > n && starved > n / 50 && enough > n));
}

// ---- out of time ---------------------------------------------------------------------------------------

static struct {
    const struct rb_engine_ops *ops;
    uint32_t left; // epochs that threads still have when they start
} age;

static int start_old(struct rb_engine *e, struct rb_thread *t)
{
    const int status = age.ops->thread_start(e, t);

    t->epoch = RB_EPOCH_TIME_MAX - age.left;
    return status;
}

static void saturation(void **state)
{
    static const uint32_t left[] = {0, 1, 2, 3, 6, 1000};
    static const char *const samplers[] = {"all", "random:0.3", "pacer:0.4,5"};
    static struct random_trace t;
    static struct subject s;
    static struct expected x;
    static struct report p;
    const uint32_t n = test_traces(1500);
    uint32_t missed = 0, found = 0;

    (void)state;
    for (uint32_t i = 0; i < n; i++) {
        const struct rb_sampler_spec spec = test_sampler(samplers[i % RB_LENGTH(samplers)]);
        random_trace_make(&t, 8000000 + i, &random_small);
        subject_open(&s, &t);
        expect(&x, &s, &spec, i);
        for (int e = 0; rb_engines[e]; e++) {
            struct rb_engine_ops ops = *rb_engines[e];
            ops.thread_start = start_old;
            age.ops = rb_engines[e];
            age.left = left[i / 3 % RB_LENGTH(left)];
            report_make(&p, &s, &ops, &x, true);
            assert_int_equal(p.status, 0);
            const char *wrong = report_check_true(&p, &s, &x);
            if (!wrong && age.left == 1000)
                wrong = age.ops == &rb_fasttrack ? report_check_first(&p, &s, &x)
                                                 : report_check_exact(&p, &s, &x);
            if (!wrong && age.left == 0 && p.races > 0)
                wrong = "recorded without a time to record it under";
            if (wrong) {
                fprintf(stderr, "seed %u, %u epochs left: ", 8000000 + i, age.left);
                report_print(&p, &s, &x, ops.name, wrong);
                fail();
            }
            if (age.ops != &rb_fasttrack && age.left < 1000) {
                missed += x.racy_events - p.races;
                found += p.races;
            }
            report_free(&p);
        }
        subject_close(&s);
    }
    assert_true(missed > 0 && found > 0);
}

// The step itself at the end of time.
static void last_epochs(void **state)
{
    (void)state;
    for (size_t e = 0; e < RB_LENGTH(exact); e++) {
        open_world(exact[e]);
        w.thread[0].epoch = RB_EPOCH_TIME_MAX - 1;
        assert_int_equal(write_at(0, 1), 0);
        order(0, 1);
        assert_int_equal(w.thread[0].epoch, RB_EPOCH_TIME_MAX);
        assert_int_equal(w.thread[0].published, RB_EPOCH_TIME_MAX - 1);
        assert_int_equal(write_at(2, 2), 1); // the last that was recorded
        w.engine.ops->cell_clear(&w.engine, &w.cell);
        write_at(0, 3);
        order(0, 3);
        assert_int_equal(w.thread[0].epoch, RB_EPOCH_TIME_MAX);
        assert_int_equal(write_at(2, 4), 0); // thread 0 records no more
        assert_int_equal(write_at(0, 5), 4); // but still looks
        close_world();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cell),
        cmocka_unit_test(last_epochs),
        cmocka_unit_test(memory),
        cmocka_unit_test(saturation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
