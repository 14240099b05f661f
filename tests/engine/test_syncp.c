// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SyncP warns of an access iff it is the second side of a race that preserves synchronisation, and names a
// first side that is one. Shown on traces judged by hand; on thousands of tiny random ones against the
// enumeration of all reorderings (engine/reorderings.h); and on larger ones against the closure written
// straight from its definition, a set of events and four rules applied until nothing changes. With samplers'
// choices, and with collection after every few events, which must change nothing.
//
// RB_TEST_TRACES sets the number of tiny traces (default 20,000).
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "engine/hand_trace.h"
#include "engine/random_trace.h"
#include "engine/reorderings.h"
#include "engine/reorderings_locks.h"
#include "lab/predict/predict.h"
#include "lab/predict/syncp.h"
#include "trace/format.h"

// A trace with what the engine is told about it, and what it said.
struct subject {
    struct rb_event event[RANDOM_TRACE_MOST];
    uint32_t count, threads;
    uint64_t locks, variables;
    uint64_t hard[4];
    bool sampled[RANDOM_TRACE_MOST];
    bool late; // a thread goes on after its join, or has no fork where each seems to: collection may cost its
               // races
    uint32_t first[RANDOM_TRACE_MOST]; // NONE: no warning
};

#define NONE UINT32_MAX

static bool is_lock_event(enum rb_op op)
{
    return op >= RB_ACQUIRE && op <= RB_RD_REL;
}

static bool on(const struct rb_event *e, uint64_t object)
{
    return rb_op_info[e->op].space == RB_SPACE_LOCK && e->target == object;
}

// Does the object keep the order of all its events?
static bool is_hard(const struct subject *s, uint64_t object)
{
    uint32_t writes[64] = {0}, reads[64] = {0};
    bool lock = false, other = false, odd = false;

    for (uint32_t i = 0; i < s->count; i++) {
        const struct rb_event *e = &s->event[i];
        uint32_t written = 0, read = 0;
        if (!on(e, object))
            continue;
        lock |= is_lock_event(e->op);
        other |= !is_lock_event(e->op);
        for (uint32_t t = 0; t < s->threads; t++) {
            written += writes[t];
            read += reads[t];
        }
        if (e->op == RB_ACQUIRE)
            odd |= read > 0 || written != writes[e->thread];
        if (e->op == RB_RD_ACQ)
            odd |= written > 0;
        if (e->op == RB_RELEASE)
            odd |= writes[e->thread] == 0;
        if (e->op == RB_RD_REL)
            odd |= reads[e->thread] == 0;
        if (odd)
            break;
        writes[e->thread] += (e->op == RB_ACQUIRE) - (e->op == RB_RELEASE);
        reads[e->thread] += (e->op == RB_RD_ACQ) - (e->op == RB_RD_REL);
    }
    return lock && (other || odd);
}

static void describe(struct subject *s)
{
    bool forked[64] = {false}, seen[64] = {false}, joined[64] = {false}, unforked = false;
    uint32_t forks = 0;

    s->locks = s->variables = 1;
    s->late = false;
    memset(s->hard, 0, sizeof(s->hard));
    for (uint32_t i = 0; i < s->count; i++) {
        const struct rb_event *e = &s->event[i];
        const enum rb_space space = (enum rb_space)rb_op_info[e->op].space;
        if (space == RB_SPACE_LOCK && e->target >= s->locks)
            s->locks = e->target + 1;
        if (space == RB_SPACE_VARIABLE && e->target >= s->variables)
            s->variables = e->target + 1;
        s->late |= joined[e->thread];
        unforked |= !seen[e->thread] && !forked[e->thread] && i > 0;
        seen[e->thread] = true;
        forks += e->op == RB_FORK;
        if (e->op == RB_FORK) {
            forked[e->target] = true;
            joined[e->target] = false;
        }
        if (e->op == RB_JOIN && e->target != e->thread)
            joined[e->target] = true;
    }
    s->late |= unforked && forks + 1 >= s->threads;
    for (uint64_t l = 0; l < s->locks; l++)
        s->hard[l / 64] |= (uint64_t)is_hard(s, l) << l % 64;
}

static void run_engine(struct subject *s)
{
    uint64_t events_of[RB_OPS] = {0};
    struct rb_arena arena;

    for (uint32_t i = 0; i < s->count; i++)
        events_of[s->event[i].op]++;
    rb_arena_init(&arena, (size_t)64 << 20);
    const struct rb_predict_world world = {.threads = s->threads,
                                           .locks = s->locks,
                                           .variables = s->variables,
                                           .locations = 16,
                                           .events = s->count,
                                           .events_of = events_of,
                                           .hard = s->hard,
                                           .arena = &arena};
    struct rb_predictor *p = rb_syncp.open(&world);
    assert_non_null(p);
    for (uint32_t i = 0; i < s->count; i++) {
        struct rb_partner partner = {0};
        assert_int_equal(rb_syncp.event(p, &s->event[i], i, s->sampled[i], &partner), 0);
        s->first[i] = partner.epoch ? (uint32_t)rb_event_place_index(partner.where) : NONE;
    }
    rb_syncp.close(p);
    rb_arena_destroy(&arena);
}

static void print_subject(const struct subject *s)
{
    static struct random_trace t;

    t.count = s->count;
    memcpy(t.event, s->event, s->count * sizeof(s->event[0]));
    random_trace_print(&t, NULL, NULL);
}

// ---- the slow definition -------------------------------------------------------------------------------

struct slow {
    const struct subject *s;
    bool in[RANDOM_TRACE_MOST];
    uint32_t opens[RANDOM_TRACE_MOST]; // of a release that closes a section: its acquire, else NONE
};

static bool is_section_event(const struct subject *s, uint32_t i)
{
    const struct rb_event *e = &s->event[i];

    return is_lock_event(e->op) && !(s->hard[e->target / 64] >> e->target % 64 & 1);
}

// Depth of the thread's holding of the lock in the same mode before event i; `from` is where it began.
static uint32_t depth_before(const struct subject *s, uint32_t i, uint32_t *from)
{
    const struct rb_event *e = &s->event[i];
    const bool read = e->op == RB_RD_ACQ || e->op == RB_RD_REL;
    uint32_t depth = 0;

    for (uint32_t k = 0; k < i; k++) {
        const struct rb_event *a = &s->event[k];
        if (!on(a, e->target) || a->thread != e->thread)
            continue;
        if (a->op == (read ? RB_RD_ACQ : RB_ACQUIRE) && depth++ == 0)
            *from = k;
        if (a->op == (read ? RB_RD_REL : RB_RELEASE))
            depth--;
    }
    return depth;
}

static bool begins_section(const struct subject *s, uint32_t i)
{
    uint32_t from;

    return is_section_event(s, i) && rb_op_info[s->event[i].op].acquires && depth_before(s, i, &from) == 0;
}

static void slow_open(struct slow *w, const struct subject *s)
{
    w->s = s;
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t from = NONE;
        w->opens[i] = NONE;
        if (is_section_event(s, i) && !rb_op_info[s->event[i].op].acquires && depth_before(s, i, &from) == 1)
            w->opens[i] = from;
    }
}

// Must event i (with all before it) be in σ' if j is?
static bool comes_before(const struct subject *s, uint32_t i, uint32_t j, bool with_reads)
{
    const struct rb_event *a = &s->event[i], *b = &s->event[j];

    if (a->thread == b->thread || (a->op == RB_FORK && a->target == b->thread))
        return true;
    if (b->op == RB_JOIN && (a->thread == b->target || (a->op == RB_FORK && a->target == b->target)))
        return true;
    if (with_reads && b->op == RB_READ && a->op == RB_WRITE && a->target == b->target) {
        for (uint32_t k = i + 1; k < j; k++)
            if (s->event[k].op == RB_WRITE && s->event[k].target == b->target)
                return false;
        return true;
    }
    if (rb_op_info[b->op].space != RB_SPACE_LOCK || !on(a, b->target))
        return false;
    if (s->hard[b->target / 64] >> b->target % 64 & 1)
        return true;
    return !is_lock_event(a->op) && !is_lock_event(b->op) &&
           (rb_op_info[a->op].releases || rb_op_info[b->op].releases);
}

static bool exclude(const struct subject *s, uint32_t i, uint32_t j)
{
    const struct rb_event *a = &s->event[i], *b = &s->event[j];

    return a->target == b->target && a->thread != b->thread && (a->op == RB_ACQUIRE || b->op == RB_ACQUIRE);
}

static bool slow_round(struct slow *w, uint32_t end)
{
    bool changed = false;

    for (uint32_t j = 0; j < end; j++) {
        for (uint32_t i = 0; i < j && w->in[j]; i++)
            if (!w->in[i] && comes_before(w->s, i, j, true))
                w->in[i] = changed = true;
        // A release of a section that has begun, and one that begins later and excludes it has begun as well.
        for (uint32_t k = j + 1; k < end && !w->in[j] && w->opens[j] != NONE && w->in[w->opens[j]]; k++)
            if (w->in[k] && begins_section(w->s, k) && exclude(w->s, w->opens[j], k))
                w->in[j] = changed = true;
    }
    return changed;
}

static bool slow_race(struct slow *w, uint32_t e1, uint32_t e2)
{
    memset(w->in, 0, sizeof(w->in));
    for (uint32_t i = 0; i < e2; i++)
        w->in[i] = (i < e1 && comes_before(w->s, i, e1, false)) || comes_before(w->s, i, e2, false);
    while (!w->in[e1] && slow_round(w, e2))
        ;
    return !w->in[e1];
}

static bool conflict(const struct subject *s, uint32_t i, uint32_t j)
{
    const struct rb_event *a = &s->event[i], *b = &s->event[j];

    return a->op <= RB_WRITE && b->op <= RB_WRITE && a->target == b->target && a->thread != b->thread &&
           (a->op == RB_WRITE || b->op == RB_WRITE);
}

// ---- judgement -----------------------------------------------------------------------------------------

typedef bool (*judge_fn)(void *judge, uint32_t i, uint32_t j);

static bool by_enumeration(void *judge, uint32_t i, uint32_t j)
{
    return reorderings_sync_preserving(judge, i, j);
}

static bool by_definition(void *judge, uint32_t i, uint32_t j)
{
    return slow_race(judge, i, j);
}

// What a run saw, so that a test that checks nothing does not pass.
struct seen {
    uint64_t traces, racy, clear, late;
    uint64_t of[RB_OPS];
};

static void judge_subject(struct subject *s, judge_fn races, void *judge, uint64_t seed, struct seen *seen)
{
    run_engine(s);
    seen->traces++;
    seen->late += s->late;
    for (uint32_t j = 0; j < s->count; j++) {
        bool racy = false, any = false;
        seen->of[s->event[j].op]++;
        for (uint32_t i = 0; i < j && !racy && s->sampled[j]; i++)
            if (s->sampled[i] && conflict(s, i, j)) {
                any = true;
                racy = races(judge, i, j);
            }
        seen->racy += racy;
        seen->clear += any && !racy;
        const uint32_t first = s->first[j];
        const char *wrong = NULL;
        if (first == NONE && racy && !(s->late && rb_syncp_tuning.collect_every < 1 << 16))
            wrong = "a race missed";
        else if (first != NONE && !racy)
            wrong = "a false alarm";
        else if (first != NONE && (!conflict(s, first, j) || !s->sampled[first] || !races(judge, first, j)))
            wrong = "the wrong partner";
        if (wrong) {
            print_subject(s);
            print_error("seed %llu, event %u: %s (%d)\n", (unsigned long long)seed, j, wrong, (int)first);
            fail();
        }
    }
}

// From a trace of all kinds; threads numbered from 0 without gaps, so that none is awaited for ever.
static void take_random(struct subject *s, uint64_t seed, const struct random_shape *shape)
{
    static struct random_trace t;
    uint32_t number[512];

    random_trace_make(&t, seed, shape);
    s->count = t.count;
    s->threads = 0;
    memset(number, 0xff, sizeof(number));
    for (uint32_t pass = 0; pass < 2; pass++) // those with events first
        for (uint32_t i = 0; i < t.count; i++) {
            const bool names = t.event[i].op == RB_FORK || t.event[i].op == RB_JOIN;
            const uint64_t id = pass == 0 ? t.event[i].thread : names ? t.event[i].target : t.event[i].thread;
            if (number[id] == NONE)
                number[id] = s->threads++;
        }
    for (uint32_t i = 0; i < t.count; i++) {
        s->event[i] = t.event[i];
        s->event[i].thread = number[t.event[i].thread];
        if (t.event[i].op == RB_FORK || t.event[i].op == RB_JOIN)
            s->event[i].target = number[t.event[i].target];
    }
    describe(s);
}

static void take_locks(struct subject *s, uint64_t seed, uint32_t count)
{
    s->threads = reorderings_random_locks(s->event, count, seed);
    s->count = count;
    describe(s);
}

static void sample(struct subject *s, uint64_t seed, double rate)
{
    struct rb_rng rng;

    rb_rng_seed(&rng, seed ^ 0x5a5a);
    for (uint32_t i = 0; i < s->count; i++)
        s->sampled[i] = rb_rng_chance(&rng, rate);
}

static const double rates[] = {1, 1, 0.6};
static const uint64_t periods[] = {1 << 16, 1, 3};

static void tune(uint64_t n)
{
    rb_syncp_tuning.collect_every = periods[n % 3];
    rb_syncp_tuning.few_turns = n % 2 ? 32 : 0;
    rb_syncp_tuning.ideals = n % 5 ? 4 : UINT32_MAX; // none
}

static void tiny(void **state)
{
    static const struct random_shape shape = {.events_min = 6,
                                              .events_max = 16,
                                              .threads_min = 2,
                                              .threads_max = 4};
    const char *given = getenv("RB_TEST_TRACES");
    const uint64_t traces = given ? strtoull(given, NULL, 10) : 20000;
    static struct subject s;
    static struct reorderings r;
    struct seen seen = {0};

    (void)state;
    for (uint64_t seed = 1; seed <= traces; seed++) {
        if (seed % 2)
            take_random(&s, seed, &shape);
        else
            take_locks(&s, seed, 6 + (uint32_t)(seed / 2 % 12));
        if (!reorderings_open(&r, s.event, s.count))
            continue;
        sample(&s, seed, rates[seed / 2 % 3]);
        tune(seed / 6);
        judge_subject(&s, by_enumeration, &r, seed, &seen);
    }
    print_message("%llu traces, %llu racy, %llu clear, %llu with late threads\n",
                  (unsigned long long)seen.traces, (unsigned long long)seen.racy,
                  (unsigned long long)seen.clear, (unsigned long long)seen.late);
    assert_true(given || (seen.traces > 15000 && seen.racy > 10000 && seen.clear > 5000 && seen.late < 6000));
    for (int op = 0; op < RB_OPS && !given; op++)
        assert_true(!rb_op_info[op].text || seen.of[op] > 100);
}

static void larger(void **state)
{
    static const struct random_shape shape = {.events_min = 60,
                                              .events_max = 200,
                                              .threads_min = 2,
                                              .threads_max = 8};
    static struct subject s;
    static struct slow slow;
    struct seen seen = {0};

    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        if (seed % 4 == 0)
            take_random(&s, seed, &shape);
        else
            take_locks(&s, seed, 60 + (uint32_t)(seed % 8) * 20);
        sample(&s, seed, rates[seed % 3]);
        slow_open(&slow, &s);
        tune(seed / 3);
        judge_subject(&s, by_definition, &slow, seed, &seen);
    }
    print_message("%llu traces, %llu racy, %llu clear\n", (unsigned long long)seen.traces,
                  (unsigned long long)seen.racy, (unsigned long long)seen.clear);
    assert_true(seen.racy > 2000 && seen.clear > 2000);
}

// ---- by hand -------------------------------------------------------------------------------------------

static const struct hand_case by_hand[] = {
    CASE("happens-before hides it, sections need not move", 1 << 5, W(0, 0), ACQ(0, 0), REL(0, 0), ACQ(1, 0),
         REL(1, 0), W(1, 0)),
    CASE("sections would have to change places", 0, ACQ(0, 0), W(0, 0), REL(0, 0), ACQ(1, 0), REL(1, 0),
         W(1, 0)),
    CASE("the edge of the read itself is not taken yet", 1 << 1, W(0, 0), R(1, 0)),
    CASE("and is taken afterwards", 1 << 1, W(0, 0), R(1, 0), W(1, 0)),
    // The sections of lock 0 that are in: thread 1's because of e2, thread 2's because thread 1 reads from
    // it, which is earlier; so its end is in, and with it the write that it reads, behind e1.
    CASE("the end of a section draws more in", 0, W(0, 0), W(0, 1), ACQ(2, 0), W(2, 2), R(2, 1), REL(2, 0),
         R(1, 2), ACQ(1, 0), REL(1, 0), W(1, 0)),
    CASE("without the later section it does not", 1 << 7, W(0, 0), W(0, 1), ACQ(2, 0), W(2, 2), R(2, 1),
         REL(2, 0), R(1, 2), W(1, 0)),
    CASE("the last of a stretch races, the first is seen", 1 << 4, W(0, 0), W(0, 1), W(0, 0), R(1, 1),
         W(1, 0)),
    CASE("an access after one that was judged, in the same stretch", 1 << 4 | 1 << 5, W(0, 0), W(0, 1),
         R(1, 1), W(1, 0), W(0, 0), W(1, 0)),
    // The read at 3 knows of thread 2's section from itself on. Were it asked for its clock and not for that
    // of the event before it, the section's end would be in, because thread 1 takes the lock later, and with
    // it 4 and 3.
    CASE("the edge of the first side is not taken either", 1 << 3 | 1 << 10, W(0, 1), ACQ(2, 0), W(2, 0),
         R(0, 0), W(0, 2), R(2, 2), REL(2, 0), R(1, 1), ACQ(1, 0), REL(1, 0), W(1, 0)),
    // Thread 0's section is drawn to its end, for the first of the two writes before it; for the second it is
    // not.
    CASE("each pair of threads has its own ideal", 1 << 2 | 1 << 8, ACQ(0, 0), W(0, 0), W(2, 0), W(2, 1),
         R(0, 1), REL(0, 0), ACQ(1, 0), REL(1, 0), W(1, 0)),
    // By the time thread 2 comes, without a fork, the clock of the write it reads is collected.
    CASE("a thread that comes late", 0, E(0, FORK, 1), E(0, FORK, 1), W(0, 0), W(0, 1), R(1, 1), W(1, 2),
         W(0, 3), R(1, 3), W(1, 4), R(0, 4), W(0, 5), W(0, 5), W(0, 5), R(2, 2), W(2, 0)),
    CASE("two read sections do not bind each other", 1 << 8, W(0, 0), W(0, 1), E(2, RD_ACQ, 0), W(2, 2),
         R(2, 1), E(2, RD_REL, 0), R(1, 2), E(1, RD_ACQ, 0), W(1, 0)),
    CASE("a read section and a later write section do", 0, W(0, 0), W(0, 1), E(2, RD_ACQ, 0), W(2, 2),
         R(2, 1), E(2, RD_REL, 0), R(1, 2), ACQ(1, 0), W(1, 0)),
};

static void hand(void **state)
{
    static struct subject s;

    (void)state;
    for (size_t c = 0; c < 6 * RB_LENGTH(by_hand); c++) {
        const struct hand_case *h = &by_hand[c / 6];
        tune(c % 6);
        s.count = h->count;
        s.threads = 3;
        memcpy(s.event, h->event, h->count * sizeof(h->event[0]));
        describe(&s);
        for (uint32_t i = 0; i < s.count; i++)
            s.sampled[i] = s.event[i].target == 0; // the other variables carry order only
        run_engine(&s);
        for (uint32_t i = 0; i < s.count; i++)
            if ((s.first[i] != NONE) != (h->racy >> i & 1)) {
                print_error("%s: event %u\n", h->what, i);
                fail();
            }
    }
}

// Memory that runs out is said, not survived by silence.
static void out_of_memory(void **state)
{
    struct rb_arena arena;
    struct rb_predict_world world = {.threads = 64, .locks = 4, .variables = 4, .arena = &arena};
    int status = 0;

    (void)state;
    rb_arena_init(&arena, (size_t)2 << 20);
    struct rb_predictor *p = rb_syncp.open(&world);
    assert_non_null(p);
    for (uint32_t i = 0; i < 1000000 && status == 0; i++) {
        const struct rb_event e = {.op = i / 2 % 2 ? RB_READ : RB_WRITE, .thread = i % 64, .target = i % 4};
        struct rb_partner partner;
        status = rb_syncp.event(p, &e, i, true, &partner);
    }
    assert_int_equal(status, -ENOMEM);
    rb_arena_destroy(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hand),
        cmocka_unit_test(tiny),
        cmocka_unit_test(larger),
        cmocka_unit_test(out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
