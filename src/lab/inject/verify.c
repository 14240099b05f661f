// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lab/inject/verify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"

#define NONE UINT32_MAX

// A thread's hold on a lock: its depth. One entry for each (lock, thread) that ever met.
struct hold {
    uint64_t lock;
    uint32_t thread_plus_1; // 0: free entry
    uint32_t writes, reads;
};

struct lock {
    uint32_t writers, readers; // number of threads that hold it
    bool has_lock_events, has_others;
    bool strict; // all events keep their order: mixed kinds, BASE itself breaks R3 with it, or a thread
                 // holds it both ways
    uint64_t seen, seen_releasing; // counted while a trace is scanned
};

struct check {
    const struct rb_verify_world *w;
    const struct rb_event *base, *other;
    uint64_t count; // of events, in both traces
    uint64_t free_variable;
    struct rb_error *error;

    uint64_t *start; // base events of thread t are list[start[t]] up to list[start[t + 1] - 1]
    uint32_t *list;
    uint32_t *match;        // for each event of other, the same event of base
    uint64_t *run;          // events of each thread seen so far
    uint32_t *sees_in_base; // for each read its write, or NONE
    uint32_t *last_write;   // for each variable, while a trace is scanned
    struct lock *locks;
    uint64_t *rank,
        *rank_releasing; // of each base event of an object: number of (releasing) events before it
    struct hold *holds;
    uint64_t hold_capacity, hold_count;
};

// ---- messages ------------------------------------------------------------------------------------------

static const char *name_of(const struct check *c, enum rbt_table table, uint64_t id, char *scratch)
{
    static const struct rb_reader nameless;
    const struct rb_reader *r = c->w->names ? c->w->names : &nameless;

    return rb_reader_name(r, table, id, scratch);
}

struct words {
    char text[160];
};

static struct words describe_event(const struct check *c, const struct rb_event *e)
{
    char thread[32], target[32], place[32];
    struct words w;
    const struct rb_op_info *info = &rb_op_info[e->op];

    snprintf(w.text, sizeof(w.text), "%.40s|%s(%.60s)|%.40s", name_of(c, RBT_THREADS, e->thread, thread),
             info->text ? info->text : "?", name_of(c, rb_table_of_space[info->space], e->target, target),
             name_of(c, RBT_LOCATIONS, e->location, place));
    return w;
}

#define WRONG(c, index, format, ...)                                                                       \
    rb_bad_input((c)->error, "%s: event %" PRIu64 " (%s): " format, (c)->w->other_path, (uint64_t)(index), \
                 describe_event((c), &(c)->other[index]).text, __VA_ARGS__)

// ---- R1: thread order ----------------------------------------------------------------------------------

static int list_threads(struct check *c, uint64_t other_count)
{
    const uint64_t threads = c->w->threads;
    char scratch[32];

    for (uint64_t i = 0; i < c->count; i++)
        c->start[c->base[i].thread + 1]++;
    for (uint64_t i = 0; i < other_count; i++)
        c->run[c->other[i].thread]++;
    for (uint64_t t = 0; t < threads; t++)
        if (c->run[t] != c->start[t + 1])
            return rb_bad_input(c->error,
                                "%s: thread %s has %" PRIu64 " events where %" PRIu64
                                " follow from %s: %s (R1)",
                                c->w->other_path, name_of(c, RBT_THREADS, t, scratch), c->run[t],
                                c->start[t + 1], c->w->base_path,
                                c->run[t] < c->start[t + 1] ? "events are lost" : "events are added");
    for (uint64_t t = 0; t < threads; t++)
        c->start[t + 1] += c->start[t];
    memset(c->run, 0, threads * sizeof(*c->run));
    for (uint64_t i = 0; i < c->count; i++) {
        const uint32_t t = c->base[i].thread;
        c->list[c->start[t] + c->run[t]++] = (uint32_t)i;
    }
    return 0;
}

static bool same_event(const struct rb_event *a, const struct rb_event *b)
{
    return a->op == b->op && a->target == b->target && a->location == b->location;
}

static int match_threads(struct check *c)
{
    memset(c->run, 0, c->w->threads * sizeof(*c->run));
    for (uint64_t i = 0; i < c->count; i++) {
        const uint32_t t = c->other[i].thread;
        const uint64_t k = c->run[t]++;
        c->match[i] = c->list[c->start[t] + k];
        if (!same_event(&c->other[i], &c->base[c->match[i]]))
            return WRONG(c, i, "event %" PRIu64 " of its thread is %s in %s: thread order (R1)", k,
                         describe_event(c, &c->base[c->match[i]]).text, c->w->base_path);
    }
    return 0;
}

// ---- R2: reads -----------------------------------------------------------------------------------------

// Finds the write that each read of a trace sees, as the number of an event of `base`.
static int check_reads(struct check *c, bool in_base)
{
    const struct rb_event *events = in_base ? c->base : c->other;

    memset(c->last_write, 0xff, c->w->variables * sizeof(*c->last_write));
    for (uint64_t i = 0; i < c->count; i++) {
        const struct rb_event *e = &events[i];
        const uint32_t me = in_base ? (uint32_t)i : c->match[i];
        if (e->op == RB_WRITE)
            c->last_write[e->target] = me;
        if (e->op != RB_READ || e->target == c->free_variable)
            continue;
        const uint32_t sees = c->last_write[e->target];
        if (in_base) {
            c->sees_in_base[i] = sees;
        } else if (sees != c->sees_in_base[me]) {
            const uint32_t was = c->sees_in_base[me];
            char a[200] = "no write", b[200] = "none";
            if (sees != NONE)
                snprintf(a, sizeof(a), "the write %s", describe_event(c, &c->base[sees]).text);
            if (was != NONE)
                snprintf(b, sizeof(b), "%s", describe_event(c, &c->base[was]).text);
            return WRONG(c, i, "the read sees %s, in %s it sees %s (R2)", a, c->w->base_path, b);
        }
    }
    return 0;
}

// ---- R3 and R5: objects --------------------------------------------------------------------------------

static struct hold *hold_of(struct check *c, uint64_t lock, uint32_t thread)
{
    uint64_t i = rb_mix64(lock * RB_GOLDEN + thread);

    for (;; i++) {
        struct hold *h = &c->holds[i & (c->hold_capacity - 1)];
        if (h->thread_plus_1 == 0) {
            *h = (struct hold){.lock = lock, .thread_plus_1 = thread + 1};
            return h;
        }
        if (h->lock == lock && h->thread_plus_1 == thread + 1)
            return h;
    }
}

static const char *take_lock(const struct lock *l, const struct hold *h, bool to_write)
{
    const bool other_writes = l->writers > (h->writes > 0), other_reads = l->readers > (h->reads > 0);

    if (to_write ? h->reads : h->writes)
        return "takes a lock both to read and to write";
    if (other_writes)
        return "takes a lock that another thread holds";
    return to_write && other_reads ? "takes a lock to write that another thread holds to read" : NULL;
}

// Applies an event to its lock. Returns a description of the error, or NULL.
static const char *lock_event(struct check *c, const struct rb_event *e)
{
    struct lock *l = &c->locks[e->target];
    struct hold *h = hold_of(c, e->target, e->thread);
    const char *wrong = NULL;

    switch (e->op) {
    case RB_ACQUIRE:
        wrong = h->writes ? NULL : take_lock(l, h, true);
        l->writers += h->writes++ == 0;
        return wrong;
    case RB_RD_ACQ:
        wrong = h->reads ? NULL : take_lock(l, h, false);
        l->readers += h->reads++ == 0;
        return wrong;
    case RB_RELEASE:
        if (!h->writes)
            return "releases a lock that it does not hold";
        l->writers -= --h->writes == 0;
        return NULL;
    default:
        if (!h->reads)
            return "read-releases a lock that it does not hold";
        l->readers -= --h->reads == 0;
        return NULL;
    }
}

static bool is_lock_event(enum rb_op op)
{
    return op == RB_ACQUIRE || op == RB_RELEASE || op == RB_RD_ACQ || op == RB_RD_REL;
}

static bool on_object(const struct rb_event *e)
{
    return rb_op_info[e->op].space == RB_SPACE_LOCK;
}

static void forget_objects(struct check *c)
{
    for (uint64_t i = 0; i < c->w->locks; i++) {
        struct lock *l = &c->locks[i];
        l->writers = l->readers = 0;
        l->seen = l->seen_releasing = 0;
    }
    memset(c->holds, 0, c->hold_capacity * sizeof(*c->holds));
}

static void objects_of_base(struct check *c)
{
    forget_objects(c);
    for (uint64_t i = 0; i < c->count; i++) {
        const struct rb_event *e = &c->base[i];
        if (!on_object(e))
            continue;
        struct lock *l = &c->locks[e->target];
        c->rank[i] = l->seen++;
        c->rank_releasing[i] = l->seen_releasing;
        l->seen_releasing += rb_op_info[e->op].releases;
        if (is_lock_event(e->op)) {
            l->has_lock_events = true;
            l->strict |= lock_event(c, e) != NULL;
        } else {
            l->has_others = true;
        }
    }
    for (uint64_t i = 0; i < c->w->locks; i++)
        c->locks[i].strict |= c->locks[i].has_lock_events && c->locks[i].has_others;
}

static int objects_of_other(struct check *c)
{
    forget_objects(c);
    for (uint64_t i = 0; i < c->count; i++) {
        const struct rb_event *e = &c->other[i];
        if (!on_object(e))
            continue;
        struct lock *l = &c->locks[e->target];
        const uint32_t me = c->match[i];
        const bool releases = rb_op_info[e->op].releases;
        bool moved = false;
        if (l->strict) {
            moved = l->seen != c->rank[me];
        } else if (is_lock_event(e->op)) {
            const char *wrong = lock_event(c, e);
            if (wrong)
                return WRONG(c, i, "the thread %s: critical sections overlap (R3)", wrong);
        } else {
            // All pairs with a releasing event keep their order if every event has as many releasing events
            // before it, and every releasing event as many of all.
            moved = l->seen_releasing != c->rank_releasing[me] || (releases && l->seen != c->rank[me]);
        }
        if (moved)
            return WRONG(c, i, "its place among the events of its object is not the one in %s (R5)",
                         c->w->base_path);
        l->seen++;
        l->seen_releasing += releases;
    }
    return 0;
}

// ---- R4: fork and join ---------------------------------------------------------------------------------

// Checks that each fork and join has as many events of the thread it names before it as in base: none, and
// all, in a base that is in order itself. Forks and joins that name the thread are counted too, so these
// keep their order as well.
static int forks_and_joins(struct check *c)
{
    uint64_t *const before = c->rank; // of the base events that are forks or joins; its other use is over

    memset(c->run, 0, c->w->threads * sizeof(*c->run));
    for (uint64_t i = 0; i < c->count; i++) {
        const struct rb_event *e = &c->base[i];
        if (e->op == RB_FORK || e->op == RB_JOIN)
            before[i] = c->run[e->target]++;
        c->run[e->thread]++;
    }
    memset(c->run, 0, c->w->threads * sizeof(*c->run));
    for (uint64_t i = 0; i < c->count; i++) {
        const struct rb_event *e = &c->other[i];
        if ((e->op == RB_FORK || e->op == RB_JOIN) && c->run[e->target]++ != before[c->match[i]])
            return WRONG(c, i,
                         "%" PRIu64
                         " events of that thread, forks and joins of it come before it, in %s %" PRIu64
                         " (R4)",
                         c->run[e->target] - 1, c->w->base_path, before[c->match[i]]);
        c->run[e->thread]++;
    }
    return 0;
}

// ---- the check -----------------------------------------------------------------------------------------

static bool make_room(struct check *c)
{
    uint64_t lock_events = 0;

    for (uint64_t i = 0; i < c->count; i++)
        lock_events += is_lock_event(c->base[i].op);
    for (c->hold_capacity = 64; c->hold_capacity < 2 * lock_events; c->hold_capacity *= 2)
        ;
    c->start = calloc(c->w->threads + 1, sizeof(*c->start));
    c->run = calloc(c->w->threads + 1, sizeof(*c->run));
    c->list = calloc(c->count + 1, sizeof(*c->list));
    c->match = calloc(c->count + 1, sizeof(*c->match));
    c->sees_in_base = calloc(c->count + 1, sizeof(*c->sees_in_base));
    c->last_write = calloc(c->w->variables + 1, sizeof(*c->last_write));
    c->locks = calloc(c->w->locks + 1, sizeof(*c->locks));
    c->rank = calloc(c->count + 1, sizeof(*c->rank));
    c->rank_releasing = calloc(c->count + 1, sizeof(*c->rank_releasing));
    c->holds = calloc(c->hold_capacity, sizeof(*c->holds));
    return c->start && c->run && c->list && c->match && c->sees_in_base && c->last_write && c->locks &&
           c->rank && c->rank_releasing && c->holds;
}

static void give_room_back(struct check *c)
{
    free(c->start);
    free(c->run);
    free(c->list);
    free(c->match);
    free(c->sees_in_base);
    free(c->last_write);
    free(c->locks);
    free(c->rank);
    free(c->rank_releasing);
    free(c->holds);
}

int rb_verify_reordering(const struct rb_verify_world *w, const struct rb_event *base, uint64_t base_count,
                         const struct rb_event *other, uint64_t other_count, uint64_t free_variable,
                         struct rb_error *e)
{
    struct check c = {.w = w,
                      .base = base,
                      .other = other,
                      .count = base_count,
                      .free_variable = free_variable,
                      .error = e};
    int status =
        make_room(&c) ? list_threads(&c, other_count) : rb_internal(e, "out of memory for the verifier");

    if (status == 0)
        status = match_threads(&c);
    if (status == 0) {
        check_reads(&c, true);
        status = check_reads(&c, false);
    }
    if (status == 0) {
        objects_of_base(&c);
        status = objects_of_other(&c);
    }
    if (status == 0)
        status = forks_and_joins(&c);
    give_room_back(&c);
    return status;
}

// ---- the pair ------------------------------------------------------------------------------------------

static int find_pair(const struct rb_verify_world *w, const struct rb_event *events, uint64_t count,
                     uint64_t fresh_from, struct rb_verify_pair *p, struct rb_error *e)
{
    uint64_t found = 0;

    for (uint64_t i = 0; i < count; i++) {
        if (events[i].op >= RB_FIRST_NON_ACCESS || events[i].target < fresh_from)
            continue;
        if (found < 2) {
            p->at[found] = i;
            p->thread[found] = events[i].thread;
            p->op[found] = events[i].op;
            p->variable = events[i].target;
        }
        found++;
    }
    if (found != 2)
        return rb_bad_input(e,
                            "%s: %" PRIu64
                            " accesses to variables that %s does not have; an injected race has two",
                            w->other_path, found, w->base_path);
    if (events[p->at[0]].target != events[p->at[1]].target)
        return rb_bad_input(e,
                            "%s: events %" PRIu64 " and %" PRIu64
                            " are to be the race and access two variables",
                            w->other_path, p->at[0], p->at[1]);
    if (p->thread[0] == p->thread[1])
        return rb_bad_input(e,
                            "%s: events %" PRIu64 " and %" PRIu64 " are to be the race and are of one thread",
                            w->other_path, p->at[0], p->at[1]);
    if (p->op[0] != RB_WRITE && p->op[1] != RB_WRITE)
        return rb_bad_input(e, "%s: events %" PRIu64 " and %" PRIu64 " are to be the race and neither writes",
                            w->other_path, p->at[0], p->at[1]);
    p->distance = p->at[1] - p->at[0] - 1;
    return 0;
}

// Returns true if the event is one of the thread, or a fork or join of it. These keep their order (R1, R4).
static bool concerns_thread(const struct rb_event *e, uint32_t thread)
{
    return e->thread == thread || ((e->op == RB_FORK || e->op == RB_JOIN) && e->target == thread);
}

// Narrows the range of places in BASE for an event of the pair that comes after `before` events that
// concern its thread: before any of the events from *low to *high, if *low <= *high. A thread runs after
// its fork and before its join.
static void narrow_range(const struct rb_event *base, uint64_t count, uint32_t thread, uint64_t before,
                         uint64_t *low, uint64_t *high)
{
    const struct rb_event *last = NULL;
    uint64_t met = 0;

    for (uint64_t i = 0; i < count; i++) {
        const struct rb_event *e = &base[i];
        if (!concerns_thread(e, thread))
            continue;
        if (met == before && i < *high)
            *high = i;
        if (met == before && before == 0 && e->op == RB_FORK && e->thread != thread)
            *low = count + 1; // not forked yet
        met++;
        if (met == before && i + 1 > *low)
            *low = i + 1;
        last = e;
    }
    if (met < before || (met == before && last && last->op == RB_JOIN && last->thread != thread))
        *low = count + 1; // joined already
}

static uint64_t events_before(const struct rb_event *events, uint64_t at, uint32_t thread)
{
    uint64_t n = 0;

    for (uint64_t i = 0; i < at; i++)
        n += concerns_thread(&events[i], thread);
    return n;
}

int rb_verify_injected(const struct rb_verify_world *w, const struct rb_event *base, uint64_t base_count,
                       const struct rb_event *injected, uint64_t injected_count, uint64_t fresh_from,
                       struct rb_verify_pair *pair, struct rb_error *e)
{
    uint64_t low = 0, high = base_count;
    struct rb_event *with_pair;
    int status = find_pair(w, injected, injected_count, fresh_from, pair, e);

    if (status < 0)
        return status;
    for (int k = 0; k < 2; k++)
        narrow_range(base, base_count, pair->thread[k], events_before(injected, pair->at[k], pair->thread[k]),
                     &low, &high);
    // If events are lost or added, the pair has no place. The check below names the thread.
    if (low > high && injected_count == base_count + 2)
        return rb_bad_input(e,
                            "%s: no point of %s has both threads where events %" PRIu64 " and %" PRIu64
                            " stand: not shown to be a race",
                            w->other_path, w->base_path, pair->at[0], pair->at[1]);
    if (low > high)
        low = high;
    pair->point = low;
    with_pair = malloc((base_count + 2) * sizeof(*with_pair));
    if (!with_pair)
        return rb_internal(e, "out of memory for the verifier");
    memcpy(with_pair, base, low * sizeof(*base));
    with_pair[low] = injected[pair->at[0]];
    with_pair[low + 1] = injected[pair->at[1]];
    memcpy(with_pair + low + 2, base + low, (base_count - low) * sizeof(*base));
    status = rb_verify_reordering(w, with_pair, base_count + 2, injected, injected_count, pair->variable, e);
    free(with_pair);
    return status;
}
