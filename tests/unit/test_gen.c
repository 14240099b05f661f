// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The generator against checkers of its own, written to be slow and obvious: one for the discipline of a
// complete trace, one for happens-before with whole vector clocks. The checkers are tested first.
#define _GNU_SOURCE 1
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "lab/generate/gen.h"
#include "lab/replay/hash_tables.h"
#include "trace/lock_check.h"
#include "trace/reader.h"

struct trace {
    struct rb_event *event;
    uint64_t events;
    uint32_t threads, locks;
    uint64_t variables, functions;
};

// ---- discipline: NULL, or what is wrong ----------------------------------------------------------------

struct thread_life {
    bool forked, joined, ran;
    uint32_t held, depth, at_barrier; // lock + 1
    uint32_t stack[64];
};

struct object {
    int64_t semaphore;
    uint32_t readers, writer; // thread + 1
    uint32_t arrived, left;   // of the current round
};

static const char *life_of(const struct trace *t, struct thread_life *life, const struct rb_event *e)
{
    struct thread_life *me = &life[e->thread];

    if (e->thread != 0 && !me->forked)
        return "event before fork";
    if (me->joined)
        return "event after join";
    if (me->at_barrier && !(e->op == RB_LEAVE && e->target + 1 == me->at_barrier))
        return "event inside a barrier";
    me->ran = true;
    if (rb_op_info[e->op].space == RB_SPACE_VARIABLE && e->target >= t->variables)
        return "no such variable";
    if (rb_op_info[e->op].space == RB_SPACE_LOCK && e->target >= t->locks)
        return "no such lock";
    switch (e->op) {
    case RB_FORK:
        if (e->target >= t->threads || life[e->target].forked || life[e->target].ran)
            return "bad fork";
        life[e->target].forked = true;
        return NULL;
    case RB_JOIN:
        if (e->target >= t->threads || !life[e->target].forked || life[e->target].joined)
            return "bad join";
        life[e->target].joined = true;
        return NULL;
    case RB_ENTER:
        if (me->depth == 64 || e->target >= t->functions)
            return "bad enter";
        me->stack[me->depth++] = (uint32_t)e->target;
        return NULL;
    case RB_EXIT:
        return me->depth > 0 && me->stack[--me->depth] == e->target ? NULL : "exit of another function";
    default:
        return NULL;
    }
}

static const char *object_use(struct thread_life *me, struct object *o, uint32_t group,
                              const struct rb_event *e)
{
    switch (e->op) {
    case RB_ACQUIRE:
        if (o->readers || o->writer)
            return "acquire of a held lock";
        o->writer = e->thread + 1;
        me->held++;
        return NULL;
    case RB_RELEASE:
        if (o->writer != e->thread + 1)
            return "release by another";
        o->writer = 0;
        me->held--;
        return NULL;
    case RB_RD_ACQ:
        if (o->writer)
            return "read-lock while written";
        o->readers++;
        me->held++;
        return NULL;
    case RB_RD_REL:
        if (o->readers == 0)
            return "read-unlock without readers";
        o->readers--;
        me->held--;
        return NULL;
    case RB_POST:
        o->semaphore++;
        return NULL;
    case RB_WAIT:
        return --o->semaphore >= 0 ? NULL : "wait on a zero semaphore";
    case RB_ARRIVE:
        if (me->held)
            return "arrives with a lock";
        if (o->arrived == group) { // the round before: over only when all have left
            if (o->left < group)
                return "rounds mix";
            o->arrived = o->left = 0;
        }
        o->arrived++;
        me->at_barrier = (uint32_t)e->target + 1;
        return NULL;
    case RB_LEAVE:
        if (me->at_barrier != e->target + 1 || o->arrived < group)
            return "leaves too early";
        o->left++;
        me->at_barrier = 0;
        return NULL;
    default:
        return NULL;
    }
}

static const char *discipline(const struct trace *t)
{
    struct thread_life *life = calloc(t->threads, sizeof(*life));
    struct object *object = calloc(t->locks, sizeof(*object));
    struct rb_lock_table table = {0};
    const char *wrong = NULL;

    for (uint64_t i = 0; i < t->events && !wrong; i++) {
        const struct rb_event *e = &t->event[i];
        const uint32_t first = e->thread - e->thread % 8;
        const uint32_t group = t->threads - first < 8 ? t->threads - first : 8;

        wrong = life_of(t, life, e);
        if (!wrong && rb_op_info[e->op].space == RB_SPACE_LOCK)
            wrong = object_use(&life[e->thread], &object[e->target], group, e);
        if (!wrong && e->op >= RB_ACQUIRE && e->op <= RB_RD_REL &&
            rb_lock_table_apply(&table, e->op, e->thread, e->target) != RB_LOCK_OUTER)
            wrong = "lock_check";
    }
    for (uint32_t id = 0; id < t->threads && !wrong; id++)
        if (life[id].held || life[id].depth || life[id].at_barrier || (id > 0 && !life[id].joined))
            wrong = "not complete";
    rb_lock_table_free(&table);
    free(life);
    free(object);
    return wrong;
}

// ---- happens-before: all races, by whole vector clocks and the list of accesses of each variable -------

struct past {
    uint32_t thread, time, location;
    bool write;
};

struct history {
    struct past *past;
    uint32_t count, room;
};

struct hb {
    uint32_t threads;
    uint32_t *clock;    // [thread][thread]
    uint32_t *released; // [lock][thread]: what an acquire learns
    uint32_t *readers;  // [lock][thread]: what read-unlocks left for the next write-lock
    bool *left;         // [lock]: a leave was seen in this round
    struct history *of;
    bool keep_all; // else the last read and write of each thread, which finds a race at the same accesses
    uint64_t warnings;
    struct rb_pair_set pairs;
};

static void join(const struct hb *h, uint32_t *to, const uint32_t *from)
{
    for (uint32_t i = 0; i < h->threads; i++)
        if (from[i] > to[i])
            to[i] = from[i];
}

static void copy(const struct hb *h, uint32_t *to, const uint32_t *from)
{
    memcpy(to, from, h->threads * sizeof(*to));
}

static void hb_access(struct hb *h, const struct rb_event *e)
{
    const uint32_t *now = h->clock + (size_t)e->thread * h->threads;
    struct history *of = &h->of[e->target];
    struct past *mine = NULL;
    bool race = false;

    for (uint32_t i = 0; i < of->count; i++) {
        struct past *p = &of->past[i];
        if (p->thread == e->thread) {
            if (p->write == (e->op == RB_WRITE))
                mine = p;
        } else if ((p->write || e->op == RB_WRITE) && p->time > now[p->thread]) {
            race = true;
            assert_true(rb_pair_add(&h->pairs, p->location, e->location));
        }
    }
    h->warnings += race;
    if (!mine || h->keep_all) {
        if (of->count == of->room) {
            of->room = of->room ? 2 * of->room : 4;
            of->past = realloc(of->past, of->room * sizeof(*of->past));
            assert_non_null(of->past);
        }
        mine = &of->past[of->count++];
    }
    *mine = (struct past){e->thread, now[e->thread], e->location, e->op == RB_WRITE};
}

static void hb_event(struct hb *h, const struct rb_event *e)
{
    uint32_t *now = h->clock + (size_t)e->thread * h->threads;
    uint32_t *lock = h->released + e->target * h->threads, *readers = h->readers + e->target * h->threads;

    switch (e->op) {
    case RB_READ:
    case RB_WRITE:
        hb_access(h, e);
        return;
    case RB_ACQUIRE:
        join(h, now, lock);
        join(h, now, readers);
        return;
    case RB_RELEASE:
        copy(h, lock, now);
        break;
    case RB_RD_REL:
        join(h, readers, now);
        break;
    case RB_RD_ACQ:
    case RB_LOAD:
    case RB_WAIT:
        join(h, now, lock);
        return;
    case RB_STORE:
        copy(h, lock, now);
        break;
    case RB_RMW:
        join(h, now, lock);
        join(h, lock, now);
        break;
    case RB_RMW_REL:
    case RB_POST:
        join(h, lock, now);
        break;
    case RB_ARRIVE:
        if (h->left[e->target])
            memset(lock, 0, h->threads * sizeof(*lock));
        h->left[e->target] = false;
        join(h, lock, now);
        break;
    case RB_LEAVE:
        h->left[e->target] = true;
        join(h, now, lock);
        return;
    case RB_FORK:
        join(h, h->clock + e->target * h->threads, now);
        break;
    case RB_JOIN:
        join(h, now, h->clock + e->target * h->threads);
        return;
    default:
        return;
    }
    now[e->thread]++;
}

static struct hb happens_before(const struct trace *t, bool keep_all)
{
    struct hb h = {.threads = t->threads, .keep_all = keep_all};

    h.clock = calloc((size_t)t->threads * t->threads, sizeof(*h.clock));
    h.released = calloc((size_t)t->locks * t->threads, sizeof(*h.released));
    h.readers = calloc((size_t)t->locks * t->threads, sizeof(*h.readers));
    h.left = calloc(t->locks, sizeof(*h.left));
    h.of = calloc(t->variables, sizeof(*h.of));
    assert_true(h.clock && h.released && h.readers && h.left && h.of);
    for (uint32_t i = 0; i < t->threads; i++)
        h.clock[(size_t)i * t->threads + i] = 1;
    for (uint64_t i = 0; i < t->events; i++)
        hb_event(&h, &t->event[i]);
    for (uint64_t i = 0; i < t->variables; i++)
        free(h.of[i].past);
    free(h.clock);
    free(h.released);
    free(h.readers);
    free(h.left);
    free(h.of);
    return h;
}

static uint64_t races(const struct trace *t)
{
    struct hb h = happens_before(t, true);
    rb_pair_free(&h.pairs);
    return h.warnings;
}

// ---- traces --------------------------------------------------------------------------------------------

static struct rb_gen_options options(uint64_t events, uint32_t threads)
{
    struct rb_gen_options o = rb_gen_defaults;

    o.events = events;
    o.threads = threads;
    return o;
}

static void print_options(const struct rb_gen_options *o)
{
    print_message("events %lu threads %u locks %u variables %lu sync %g race %g nesting %u functions %u "
                  "sharing %g rich %g seed %lu\n",
                  (unsigned long)o->events, o->threads, o->locks, (unsigned long)o->variables, o->sync,
                  o->race, o->nesting, o->functions, o->sharing, o->rich, (unsigned long)o->seed);
}

static struct trace generate(const struct rb_gen_options *o)
{
    const char *folder = getenv("TMPDIR");
    struct rb_error e = {0};
    struct rb_reader r;
    struct trace t;
    char path[256];

    snprintf(path, sizeof(path), "%s/railbird-gen-XXXXXX", folder ? folder : "/tmp");
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    if (rb_gen(o, path, NULL, NULL, &e) || rb_reader_open(&r, path, &e)) {
        print_options(o);
        fail_msg("%s", e.text);
    }
    assert_int_equal(r.header.events, o->events);
    assert_int_equal(r.header.threads_run, o->threads);
    assert_int_equal(rb_reader_count(&r, RBT_VARIABLES), o->variables);
    assert_int_equal(rb_reader_count(&r, RBT_FUNCTIONS), o->functions);
    t = (struct trace){.event = malloc(o->events * sizeof(*t.event)),
                       .threads = (uint32_t)rb_reader_count(&r, RBT_THREADS),
                       .locks = (uint32_t)rb_reader_count(&r, RBT_LOCKS),
                       .variables = rb_reader_count(&r, RBT_VARIABLES),
                       .functions = rb_reader_count(&r, RBT_FUNCTIONS)};
    assert_non_null(t.event);
    const bool wide = r.layout.record_bytes == 16;
    for (uint64_t p = 0; p < r.pages; p++) {
        struct rb_page page;
        assert_int_equal(rb_reader_page(&r, p, 16, &page, &e), 0);
        for (uint32_t i = 0; i < page.count; i++)
            t.event[t.events++] = rb_unpack(&r.layout, page.words + (wide ? 2 * i : i), wide);
    }
    rb_reader_close(&r);
    unlink(path);
    assert_int_equal(t.events, o->events);
    return t;
}

static uint64_t count(const struct trace *t, enum rb_op low, enum rb_op high)
{
    uint64_t n = 0;

    for (uint64_t i = 0; i < t->events; i++)
        n += t->event[i].op >= low && t->event[i].op <= high;
    return n;
}

static double sync_share(const struct trace *t)
{
    return (double)count(t, RB_ACQUIRE, RB_JOIN) / (double)t->events;
}

// ---- the checkers --------------------------------------------------------------------------------------

#define EV(thread, op, target) \
    {                          \
        target, thread, 0, op  \
    }
#define TRACE(...)                                                                                  \
    (struct trace)                                                                                  \
    {                                                                                               \
        .event = (struct rb_event[]){__VA_ARGS__},                                                  \
        .events = sizeof((struct rb_event[]){__VA_ARGS__}) / sizeof(struct rb_event), .threads = 2, \
        .locks = 3, .variables = 2, .functions = 2                                                  \
    }

static void checker_finds_planted_errors(void **state)
{
    (void)state;
    struct trace bad[] = {
        TRACE(EV(1, RB_READ, 0)),
        TRACE(EV(0, RB_FORK, 1), EV(0, RB_ACQUIRE, 0), EV(1, RB_ACQUIRE, 0)),
        TRACE(EV(0, RB_FORK, 1), EV(0, RB_ACQUIRE, 0), EV(1, RB_RD_ACQ, 0)),
        TRACE(EV(0, RB_FORK, 1), EV(0, RB_RD_ACQ, 0), EV(1, RB_ACQUIRE, 0)),
        TRACE(EV(0, RB_FORK, 1), EV(0, RB_ACQUIRE, 0), EV(1, RB_RELEASE, 0)),
        TRACE(EV(0, RB_FORK, 1), EV(0, RB_POST, 0), EV(1, RB_WAIT, 0), EV(1, RB_WAIT, 0)),
        TRACE(EV(0, RB_FORK, 1), EV(0, RB_ARRIVE, 0), EV(0, RB_LEAVE, 0)),
        TRACE(EV(0, RB_FORK, 1), EV(0, RB_ARRIVE, 0), EV(0, RB_READ, 0)),
        TRACE(EV(0, RB_FORK, 1), EV(0, RB_ARRIVE, 0), EV(1, RB_ARRIVE, 0), EV(0, RB_LEAVE, 0),
              EV(0, RB_ARRIVE, 0)),
        TRACE(EV(0, RB_ENTER, 0), EV(0, RB_EXIT, 1)),
        TRACE(EV(0, RB_FORK, 1), EV(0, RB_JOIN, 1), EV(1, RB_READ, 0)),
        TRACE(EV(0, RB_FORK, 1)),
        TRACE(EV(0, RB_FORK, 1), EV(0, RB_JOIN, 1), EV(0, RB_ENTER, 0)),
    };
    struct trace good = TRACE(EV(0, RB_FORK, 1), EV(0, RB_ARRIVE, 0), EV(1, RB_ARRIVE, 0), EV(0, RB_LEAVE, 0),
                              EV(0, RB_ARRIVE, 1), EV(1, RB_LEAVE, 0), EV(1, RB_ARRIVE, 1),
                              EV(1, RB_LEAVE, 1), EV(0, RB_LEAVE, 1), EV(0, RB_JOIN, 1));

    for (size_t i = 0; i < RB_LENGTH(bad); i++)
        assert_non_null(discipline(&bad[i]));
    assert_null(discipline(&good));
}

static void checker_knows_happens_before(void **state)
{
    (void)state;
    struct trace racy[] = {
        TRACE(EV(0, RB_FORK, 1), EV(0, RB_WRITE, 0), EV(1, RB_READ, 0)),
        TRACE(EV(0, RB_FORK, 1), EV(0, RB_READ, 0), EV(1, RB_WRITE, 0)),
        TRACE(EV(0, RB_FORK, 1), EV(0, RB_WRITE, 0), EV(0, RB_ACQUIRE, 0), EV(0, RB_RELEASE, 0),
              EV(1, RB_ACQUIRE, 1), EV(1, RB_RELEASE, 1), EV(1, RB_READ, 0)),
        TRACE(EV(0, RB_FORK, 1), EV(0, RB_RD_ACQ, 0), EV(0, RB_WRITE, 0), EV(0, RB_RD_REL, 0),
              EV(1, RB_RD_ACQ, 0), EV(1, RB_WRITE, 0), EV(1, RB_RD_REL, 0)),
        TRACE(EV(0, RB_FORK, 1), EV(0, RB_WRITE, 0), EV(0, RB_STORE, 0), EV(1, RB_STORE, 0),
              EV(1, RB_LOAD, 0), EV(1, RB_READ, 0)), // the second store hides the first
        TRACE(EV(0, RB_FORK, 1), EV(0, RB_WRITE, 0), EV(0, RB_STORE, 0), EV(1, RB_RMW_REL, 0),
              EV(1, RB_READ, 0)),
    };
    struct trace ordered[] = {
        TRACE(EV(0, RB_WRITE, 0), EV(0, RB_FORK, 1), EV(1, RB_WRITE, 0), EV(0, RB_JOIN, 1),
              EV(0, RB_READ, 0)),
        TRACE(EV(0, RB_FORK, 1), EV(0, RB_READ, 0), EV(1, RB_READ, 0)),
        TRACE(EV(0, RB_FORK, 1), EV(0, RB_WRITE, 0), EV(0, RB_POST, 0), EV(1, RB_WAIT, 0), EV(1, RB_READ, 0)),
        TRACE(EV(0, RB_FORK, 1), EV(0, RB_WRITE, 0), EV(0, RB_RMW, 0), EV(1, RB_RMW, 0), EV(1, RB_READ, 0)),
        TRACE(EV(0, RB_FORK, 1), EV(0, RB_RD_ACQ, 0), EV(0, RB_READ, 0), EV(0, RB_RD_REL, 0),
              EV(1, RB_ACQUIRE, 0), EV(1, RB_WRITE, 0), EV(1, RB_RELEASE, 0)),
        TRACE(EV(0, RB_FORK, 1), EV(0, RB_WRITE, 0), EV(0, RB_ARRIVE, 0), EV(1, RB_ARRIVE, 0),
              EV(1, RB_LEAVE, 0), EV(1, RB_WRITE, 0)),
    };

    for (size_t i = 0; i < RB_LENGTH(racy); i++)
        assert_int_equal(races(&racy[i]), 1);
    for (size_t i = 0; i < RB_LENGTH(ordered); i++)
        assert_int_equal(races(&ordered[i]), 0);
}

// ---- the generator -------------------------------------------------------------------------------------

static void seed_decides(void **state)
{
    (void)state;
    struct rb_gen_options o = options(30000, 12);
    o.rich = 0.3;
    struct trace a = generate(&o), b = generate(&o);
    o.seed++;
    struct trace c = generate(&o);
    uint64_t same = 0, other = 0;

    for (uint64_t i = 0; i < o.events; i++) {
        const struct rb_event *x = &a.event[i], *y = &b.event[i], *z = &c.event[i];
        same +=
            x->op == y->op && x->thread == y->thread && x->target == y->target && x->location == y->location;
        other += x->op == z->op && x->thread == z->thread && x->target == z->target;
    }
    assert_int_equal(same, o.events);
    assert_true(other < o.events / 4);
    free(a.event);
    free(b.event);
    free(c.event);
}

static void expect_fault(struct rb_gen_options o, const char *text)
{
    struct rb_error e = {0};

    assert_true(rb_gen(&o, "/nonexistent/x.rbt", NULL, NULL, &e) < 0);
    assert_int_equal(e.fault, RB_FAULT_INPUT);
    if (!strstr(e.text, text))
        fail_msg("got \"%s\", expected \"%s\"", e.text, text);
}

static void options_out_of_range(void **state)
{
    (void)state;
    struct rb_gen_options o;
#define EXPECT(field, value, text) \
    o = rb_gen_defaults;           \
    o.field = value;               \
    expect_fault(o, text)
    EXPECT(threads, 70000, "--threads 70000: at most 65535");
    EXPECT(threads, 0, "--threads 0: at least 1");
    EXPECT(locks, 0, "--locks 0: at least 1");
    EXPECT(locks, 1u << 31, "--locks 2147483648: at most");
    EXPECT(variables, 1, "--variables 1: at least 2");
    EXPECT(variables, UINT64_MAX, "--variables 18446744073709551615: at most");
    EXPECT(events, 0, "--events 0: at least 30");
    EXPECT(events, 29, "--events 29: at least 30 for 16 threads");
    EXPECT(events, UINT64_MAX, "--events 18446744073709551615: at most");
    EXPECT(sync, 1.5, "--sync 1.5");
    EXPECT(race, -0.1, "--race -0.1");
    EXPECT(rich, 0.0 / 0.0, "--rich");
    EXPECT(sharing, 2, "--sharing 2");
    EXPECT(nesting, 0, "--nesting 0: at least 1");
    EXPECT(nesting, 1000, "--nesting 1000: at most 64");
    EXPECT(functions, 1u << 30, "--functions 1073741824: at most");
    EXPECT(seed, 2, "/nonexistent/x.rbt");
#undef EXPECT
}

static void tiny_traces(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= 9; threads++) {
        const uint64_t least = threads > 1 ? 2 * (threads - 1) : 1;
        for (uint64_t events = least; events < least + 60; events++) {
            struct rb_gen_options o = options(events, threads);
            o.sync = 0.8;
            o.rich = events % 2 ? 0 : 0.7;
            struct trace t = generate(&o);
            assert_null(discipline(&t));
            free(t.event);
        }
    }
}

static struct rb_gen_options draw_options(struct rb_rng *rng)
{
    const double shares[] = {0, 0.02, 0.15, 0.4, 0.9, 1};
    struct rb_gen_options o = options(0, 1 + (uint32_t)rb_rng_below(rng, 20));

    o.events = 2 * o.threads + rb_rng_below(rng, 1u << (4 + rb_rng_below(rng, 9)));
    o.locks = 1 + (uint32_t)rb_rng_below(rng, 50);
    o.variables = 2 + rb_rng_below(rng, 1u << rb_rng_below(rng, 11));
    o.sync = shares[rb_rng_below(rng, 6)];
    o.race = rb_rng_below(rng, 2) ? 0 : shares[rb_rng_below(rng, 6)];
    o.nesting = 1 + (uint32_t)rb_rng_below(rng, 4);
    o.functions = (uint32_t)rb_rng_below(rng, 4) * 7;
    o.sharing = shares[rb_rng_below(rng, 6)];
    o.rich = shares[rb_rng_below(rng, 6)];
    o.seed = rb_rng_next(rng);
    return o;
}

static void any_options(void **state)
{
    (void)state;
    struct rb_rng rng;
    uint64_t protected = 0, racy = 0;

    rb_rng_seed(&rng, 7);
    for (int i = 0; i < 3000; i++) {
        const struct rb_gen_options o = draw_options(&rng);
        struct trace t = generate(&o);
        const char *wrong = discipline(&t);
        const uint64_t found = races(&t);

        if (!wrong && o.race == 0 && found > 0)
            wrong = "a race";
        if (wrong) {
            print_options(&o);
            fail_msg("%s", wrong);
        }
        protected += o.race == 0;
        racy += found > 0;
        free(t.event);
    }
    assert_true(protected > 1000 && racy > 500);
}

// Long enough that every object has been handed around many times.
static void no_race_without_unprotected(void **state)
{
    (void)state;
    for (int i = 0; i < 24; i++) {
        struct rb_gen_options o = options(100000, i % 3 == 0 ? 3 : i % 3 == 1 ? 8 : 21);
        o.race = 0;
        o.locks = i % 2 ? 64 : 5;
        o.variables = 500;
        o.rich = i % 4 == 0 ? 0 : i % 4 == 1 ? 0.3 : 1;
        o.sync = i < 12 ? 0.15 : 0.5;
        o.sharing = i % 5 == 0 ? 1 : 0.1;
        o.functions = i % 6 == 0 ? 0 : 50;
        o.seed = (uint64_t)i;
        struct trace t = generate(&o);
        assert_null(discipline(&t));
        struct hb h = happens_before(&t, false);
        if (h.warnings)
            print_options(&o);
        assert_int_equal(h.warnings, 0);
        rb_pair_free(&h.pairs);
        free(t.event);
    }
}

static void every_kind_occurs(void **state)
{
    (void)state;
    struct rb_gen_options o = options(200000, 16);
    o.rich = 0.5;
    struct trace t = generate(&o);

    for (int op = 0; op < RB_MARK; op++)
        if (rb_op_info[op].text)
            assert_true(count(&t, (enum rb_op)op, (enum rb_op)op) > 0);
    free(t.event);
}

static void near(double value, double wanted, double relative, const struct rb_gen_options *o)
{
    if (value < wanted * (1 - relative) || value > wanted * (1 + relative)) {
        print_options(o);
        fail_msg("%g, expected %g", value, wanted);
    }
}

static void shares_are_met(void **state)
{
    (void)state;
    const double sync[] = {0.01, 0.05, 0.15, 0.3, 0.6, 0.9};

    for (size_t i = 0; i < RB_LENGTH(sync); i++) {
        for (int variant = 0; variant < 5; variant++) {
            struct rb_gen_options o = options(100000, 16);
            o.sync = sync[i];
            o.locks = variant == 1 ? 4 : 256;
            o.sharing = variant == 2 ? 1 : 0.1;
            o.rich = variant == 3 ? 0.4 : 0;
            o.functions = variant == 4 ? 0 : 200;
            o.race = 0.01;
            // Four mutexes under sixteen threads are mostly taken: high shares are out of reach, and long
            // sections make the feedback slow.
            if (variant == 1 && (o.sync < 0.05 || o.sync > 0.3))
                continue;
            struct trace t = generate(&o);
            near(sync_share(&t), o.sync, 0.02, &o);
            near((double)count(&t, RB_WRITE, RB_WRITE) / (double)count(&t, RB_READ, RB_WRITE), 1 / 3.0, 0.35,
                 &o);
            if (variant == 3) {
                uint64_t rich = 0;
                for (uint64_t k = 0; k < t.events; k++)
                    rich += rb_op_info[t.event[k].op].space == RB_SPACE_LOCK && t.event[k].target >= o.locks;
                near((double)rich / (double)count(&t, RB_ACQUIRE, RB_JOIN), o.rich, 0.1, &o);
            }
            free(t.event);
        }
    }
}

static void threads_reacquire_their_own_locks(void **state)
{
    (void)state;
    struct rb_gen_options o = options(300000, 16);

    for (int shared = 0; shared < 2; shared++) {
        o.sharing = shared ? 1 : 0.1;
        struct trace t = generate(&o);
        uint32_t *last = calloc(t.locks, sizeof(*last));
        uint64_t own = 0, acquires = 0;
        for (uint64_t i = 0; i < t.events; i++) {
            const struct rb_event *e = &t.event[i];
            if (e->op == RB_ACQUIRE) {
                acquires++;
                own += last[e->target] == e->thread + 1;
            } else if (e->op == RB_RELEASE) {
                last[e->target] = e->thread + 1;
            }
        }
        assert_true(shared ? own < acquires / 8 : own > acquires / 4 * 3);
        free(last);
        free(t.event);
    }
}

// Rare and frequent in LiteRace's sense: below or from 3 per million accesses.
static void races_are_rare_and_frequent(void **state)
{
    (void)state;
    struct rb_gen_options o = options(5000000, 16);
    struct trace t = generate(&o);
    struct hb h = happens_before(&t, false);
    const double millions = (double)count(&t, RB_READ, RB_WRITE) / 1e6;
    uint64_t rare = 0, frequent = 0;

    for (uint64_t i = 0; i < h.pairs.capacity; i++) {
        if (h.pairs.slots[i].times == 0)
            continue;
        if ((double)h.pairs.slots[i].times < 3 * millions)
            rare++;
        else
            frequent++;
    }
    print_message("%lu warnings, %lu rare and %lu frequent static races\n", (unsigned long)h.warnings,
                  (unsigned long)rare, (unsigned long)frequent);
    assert_true(rare >= 20 && frequent >= 5);
    rb_pair_free(&h.pairs);
    free(t.event);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checker_finds_planted_errors),
        cmocka_unit_test(checker_knows_happens_before),
        cmocka_unit_test(seed_decides),
        cmocka_unit_test(options_out_of_range),
        cmocka_unit_test(tiny_traces),
        cmocka_unit_test(any_options),
        cmocka_unit_test(no_race_without_unprotected),
        cmocka_unit_test(every_kind_occurs),
        cmocka_unit_test(shares_are_met),
        cmocka_unit_test(threads_reacquire_their_own_locks),
        cmocka_unit_test(races_are_rare_and_frequent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
