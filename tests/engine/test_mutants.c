// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker checked: engines with one planted mistake each, run through the same comparison as in
// test_equivalence.c. Every mistake must be noticed, the engine without one must not.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/access_history.h"
#include "engine/oracle_check.h"

// ---- lost edges ----------------------------------------------------------------------------------------

static uint32_t calls;

static bool skip_acquire(struct rb_engine *e, struct rb_thread *t, struct rb_sync *s)
{
    return ++calls % 8 == 0 ? true : rb_so.acquire(e, t, s);
}

// What was sampled is never published.
static bool so_unstepped(struct rb_engine *e, struct rb_thread *t, struct rb_sync *s)
{
    t->sampled = false;
    return rb_so.release(e, t, s);
}

static bool st_unstepped(struct rb_engine *e, struct rb_thread *t, struct rb_sync *s)
{
    t->sampled = false;
    return rb_st.release(e, t, s);
}

// "Nothing sampled, nothing to say": forgets that it may have acquired something.
static bool so_silent(struct rb_engine *e, struct rb_thread *t, struct rb_sync *s)
{
    return t->sampled ? rb_so.release(e, t, s) : true;
}

static bool st_silent(struct rb_engine *e, struct rb_thread *t, struct rb_sync *s)
{
    return t->sampled ? rb_st.release(e, t, s) : true;
}

// The last releaser speaks for all who joined.
static bool su_join_keeps_releaser(struct rb_engine *e, struct rb_thread *t, struct rb_sync *s)
{
    const bool skipped = rb_su.release_join(e, t, s);

    s->releaser = t->slot;
    return skipped;
}

// Changes of the clock that leave its version as it was.
static bool so_uncounted(struct rb_engine *e, struct rb_thread *t, struct rb_sync *s)
{
    const uint64_t version = t->version;
    const bool skipped = rb_so.acquire(e, t, s);

    t->version = version;
    return skipped;
}

// Takes the releaser's own component and leaves what the releaser had from others.
static bool so_not_transitive(struct rb_engine *e, struct rb_thread *t, struct rb_sync *s)
{
    if (s->sources == 1 && s->one.releaser < t->fresh->size)
        t->fresh->changes[s->one.releaser] = s->one.version;
    return rb_so.acquire(e, t, s);
}

// ---- edges too many ------------------------------------------------------------------------------------

// A shared clock changed in place.
static bool so_in_place(struct rb_engine *e, struct rb_thread *t, struct rb_sync *s)
{
    struct rb_rclock *clock = t->recent;
    const uint32_t refs = clock->refs;

    clock->refs = 1;
    const bool skipped = rb_so.acquire(e, t, s);
    if (t->recent != clock)
        abort(); // it had no reason to move
    clock->refs = refs;
    return skipped;
}

static void clear_nothing(struct rb_engine *e, struct rb_sync *s)
{
    (void)e;
    (void)s;
}

// Recorded under an epoch that is already published.
static void access_early(struct rb_engine *e, struct rb_thread *t, struct rb_cell *c, struct rb_access a,
                         bool record, struct rb_partner *p)
{
    const uint32_t epoch = t->epoch;

    t->epoch = t->published ? t->published : epoch;
    rb_so.access(e, t, c, a, record, p);
    t->epoch = epoch;
}

// ---- one operation of an engine in place of another ----------------------------------------------------

#define INSTEAD(name, engine, operation)                                          \
    static bool name(struct rb_engine *e, struct rb_thread *t, struct rb_sync *s) \
    {                                                                             \
        return engine.operation(e, t, s);                                         \
    }

INSTEAD(djit_replace, rb_djit, release_store)
INSTEAD(st_replace, rb_st, release_store)
INSTEAD(su_replace, rb_su, release_store)
INSTEAD(so_replace, rb_so, release_store)
INSTEAD(djit_join, rb_djit, release_join)
INSTEAD(st_join, rb_st, release_join)
INSTEAD(su_join, rb_su, release_join)
INSTEAD(so_join, rb_so, release_join)
INSTEAD(su_trusting_store, rb_su, release)

// ---- the access history --------------------------------------------------------------------------------

static void check_nothing(struct rb_engine *e, struct rb_thread *t, struct rb_cell *c, struct rb_access a,
                          bool record, struct rb_partner *p)
{
    p->epoch = 0;
    if (record)
        rb_so.access(e, t, c, a, record, p);
}

static void record_always(struct rb_engine *e, struct rb_thread *t, struct rb_cell *c, struct rb_access a,
                          bool record, struct rb_partner *p)
{
    (void)record;
    rb_so.access(e, t, c, a, true, p);
}

// A check that compares and leaves the cell alone: discards nothing.
static void check_keeps(struct rb_engine *e, struct rb_thread *t, struct rb_cell *c, struct rb_access a,
                        bool record, struct rb_partner *p)
{
    const struct rb_cell cell = *c;
    const bool many = c->write & RB_EPOCH_MANY;

    rb_so.access(e, t, c, a, record, p);
    if (!record && !many && !(c->write & RB_EPOCH_MANY))
        *c = cell;
}

// Only the last access lives on.
static void last_only(struct rb_engine *e, struct rb_thread *t, struct rb_cell *c, struct rb_access a,
                      bool record, struct rb_partner *p)
{
    struct rb_cell before = *c;

    rb_so.access(e, t, c, a, record, p);
    if (record && (c->write & RB_EPOCH_MANY)) {
        rb_so.cell_clear(e, c);
        before = (struct rb_cell){0};
        rb_so.access(e, t, &before, a, true, &(struct rb_partner){0});
        *c = before;
    }
}

static void overwrite(struct rb_engine *e, struct rb_thread *t, struct rb_cell *c, struct rb_access a,
                      bool record, struct rb_partner *p)
{
    rb_fasttrack.access(e, t, c, a, record, p);
}

static void overwrite_clear(struct rb_engine *e, struct rb_cell *c)
{
    rb_fasttrack.cell_clear(e, c);
}

static void read_shared_forgets(struct rb_engine *e, struct rb_thread *t, struct rb_cell *c,
                                struct rb_access a, bool record, struct rb_partner *p)
{
    rb_fasttrack.access(e, t, c, a, record, p);
    if (!a.write && (c->read & RB_EPOCH_MANY))
        rb_fasttrack.cell_clear(e, c);
}

// An engine with the parts given put in the place of its own.
static const struct mutant {
    const char *what;
    const struct rb_engine_ops *engine;
    struct rb_engine_ops wrong;
} mutants[] = {
    {"so: an acquire in eight is lost", &rb_so, {.acquire = skip_acquire}},
    {"so: a release does not start an epoch",
     &rb_so,
     {.release = so_unstepped, .release_store = so_unstepped}},
    {"st: a release does not start an epoch", &rb_st, {.release = st_unstepped}},
    {"so: nothing sampled, nothing released", &rb_so, {.release = so_silent}},
    {"st: nothing sampled, nothing released", &rb_st, {.release = st_silent}},
    {"su: a join keeps its releaser", &rb_su, {.release_join = su_join_keeps_releaser}},
    {"su: a store trusts the lock discipline", &rb_su, {.release_store = su_trusting_store}},
    {"so: changes go uncounted", &rb_so, {.acquire = so_uncounted}},
    {"so: acquires the releaser's part alone", &rb_so, {.acquire = so_not_transitive}},
    {"so: a shared clock is changed in place", &rb_so, {.acquire = so_in_place}},
    {"so: nothing is ever cleared", &rb_so, {.sync_clear = clear_nothing}},
    {"djit: joins replace", &rb_djit, {.release_join = djit_replace}},
    {"st: joins replace", &rb_st, {.release_join = st_replace}},
    {"su: joins replace", &rb_su, {.release_join = su_replace}},
    {"so: joins replace", &rb_so, {.release_join = so_replace}},
    {"djit: stores join", &rb_djit, {.release_store = djit_join}},
    {"st: stores join", &rb_st, {.release_store = st_join}},
    {"su: stores join", &rb_su, {.release_store = su_join}},
    {"so: stores join", &rb_so, {.release_store = so_join}},
    {"so: recorded under a published epoch", &rb_so, {.access = access_early}},
    {"so: checks are left out", &rb_so, {.access = check_nothing}},
    {"so: checks are recorded", &rb_so, {.access = record_always}},
    {"so: checks discard nothing", &rb_so, {.access = check_keeps}},
    {"so: only the last access is kept", &rb_so, {.access = last_only}},
    {"so: FastTrack's history", &rb_so, {.access = overwrite, .cell_clear = overwrite_clear}},
    {"fasttrack: shared reads are forgotten", &rb_fasttrack, {.access = read_shared_forgets}},
};

static struct rb_engine_ops make_mutant(const struct mutant *m)
{
    struct rb_engine_ops ops = *m->engine;

    ops.acquire = m->wrong.acquire ? m->wrong.acquire : ops.acquire;
    ops.release = m->wrong.release ? m->wrong.release : ops.release;
    ops.release_store = m->wrong.release_store ? m->wrong.release_store : ops.release_store;
    ops.release_join = m->wrong.release_join ? m->wrong.release_join : ops.release_join;
    ops.sync_clear = m->wrong.sync_clear ? m->wrong.sync_clear : ops.sync_clear;
    ops.access = m->wrong.access ? m->wrong.access : ops.access;
    ops.cell_clear = m->wrong.cell_clear ? m->wrong.cell_clear : ops.cell_clear;
    return ops;
}

// ---- the hunt ------------------------------------------------------------------------------------------

// Does the comparison notice anything?
static bool noticed(struct subject *s, const struct expected *x, const struct rb_engine_ops *ops,
                    const struct rb_engine_ops *kind)
{
    static struct report p;

    report_make(&p, s, ops, x, true);
    const char *wrong = kind == &rb_fasttrack ? report_check_first(&p, s, x) : report_check_exact(&p, s, x);
    report_free(&p);
    return wrong != NULL;
}

// The traces are the first of those of test_equivalence.c.
static void planted(void **state)
{
    static const char *const samplers[] = {"all", "random:0.3", "pacer:0.4,5"};
    static struct random_trace t;
    static struct subject s;
    static struct expected x;
    const uint32_t traces = 3000; // not fewer: some mistakes show on one trace in a thousand
    uint32_t caught[RB_LENGTH(mutants)] = {0}, other_sample = 0;

    (void)state;
    for (uint32_t i = 0; i < traces; i++) {
        const struct rb_sampler_spec spec = test_sampler(samplers[i % RB_LENGTH(samplers)]);
        random_trace_make(&t, i, &random_small);
        subject_open(&s, &t);
        expect(&x, &s, &spec, i);
        for (int e = 0; rb_engines[e]; e++)
            assert_false(noticed(&s, &x, rb_engines[e], rb_engines[e]));
        for (size_t m = 0; m < RB_LENGTH(mutants); m++) {
            const struct rb_engine_ops ops = make_mutant(&mutants[m]);
            caught[m] += noticed(&s, &x, &ops, mutants[m].engine);
        }
        x.seed += 1000000; // the right engine under another S than the one expected
        other_sample += noticed(&s, &x, &rb_so, &rb_so);
        subject_close(&s);
    }
    for (size_t m = 0; m < RB_LENGTH(mutants); m++)
        print_message("%4u of %u  %s\n", caught[m], traces, mutants[m].what);
    print_message("%4u of %u  another sample\n", other_sample, traces);
    for (size_t m = 0; m < RB_LENGTH(mutants); m++)
        assert_true(caught[m] > 0);
    assert_true(other_sample > traces / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(planted)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
