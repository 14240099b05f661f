// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "engine/oracle_check.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SLOW 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(SLOW)
#define MAIN_TRACES 1000u
#else
#define MAIN_TRACES 10000u
#endif

uint32_t test_traces(uint32_t usual)
{
    const char *text = getenv("RB_TEST_TRACES");
    const unsigned long wanted = text ? strtoul(text, NULL, 10) : MAIN_TRACES;

    return (uint32_t)(usual * (double)wanted / 10000) + 1;
}

void subject_open(struct subject *s, const struct random_trace *trace)
{
    s->trace = trace;
    test_trace(&s->reader, trace->event, trace->count, &trace->sizes);
    oracle_build(&s->oracle, trace->event, trace->count);
}

void subject_close(struct subject *s)
{
    rb_reader_close(&s->reader);
    oracle_free(&s->oracle);
}

// ---- decisions -----------------------------------------------------------------------------------------

struct rb_sampler_spec test_sampler(const char *text)
{
    struct rb_sampler_spec spec;
    struct rb_error e = {0};

    if (rb_sampler_parse(text, &spec, &e) < 0) {
        fprintf(stderr, "%s\n", e.text);
        abort();
    }
    return spec;
}

void test_decisions(const struct rb_reader *r, const struct rb_event *events, uint32_t count,
                    const struct rb_sampler_spec *spec, uint64_t seed, enum rb_take *take)
{
    const struct rb_sampler_world world = {
        .threads = (uint32_t)rb_reader_count(r, RBT_THREADS),
        .functions = r->header.events_of[RB_ENTER] ? rb_reader_count(r, RBT_FUNCTIONS) : 0,
        .locations = rb_reader_count(r, RBT_LOCATIONS),
    };
    struct rb_sampler s;
    uint64_t gap;

    if (rb_sampler_start(&s, spec, &world, seed) < 0)
        abort();
    gap = s.ops->gap ? s.ops->gap(&s) : 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct rb_event *e = &events[i];
        take[i] = RB_PASS;
        if (e->op == RB_ENTER && s.ops->enter) {
            s.ops->enter(&s, e->thread, e->target);
        } else if (e->op == RB_EXIT && s.ops->exit) {
            s.ops->exit(&s, e->thread);
        } else if (e->op == RB_READ || e->op == RB_WRITE) {
            if (!s.ops->gap) {
                take[i] = s.ops->ask(&s, e->thread, e->location);
            } else if (gap == 0) {
                take[i] = RB_TAKE;
                gap = s.ops->gap(&s);
            } else {
                take[i] = s.ops->between;
                gap -= gap != RB_GAP_END;
            }
        }
    }
    rb_sampler_stop(&s);
}

// RPT takes everything in its windows and forgets all between them.
static void expect_windows(struct expected *x, const struct subject *s)
{
    const struct random_trace *t = s->trace;
    const double m = 4.0 * (double)s->reader.header.threads_run + 2.0 * (double)s->reader.header.locks_held;
    const double k = ceil(4 * m / x->spec.p);
    const double r = ceil(15 * log(1 / x->spec.delta) / (2 * x->spec.p));
    struct rb_rng rng;

    if (t->count < 12 * m / x->spec.p) {
        for (uint32_t i = 0; i < t->count; i++)
            x->seen[i] = true;
        x->racy_events = oracle_racy(&s->oracle, x->take, x->racy);
        x->windows = 1;
        return;
    }
    bool joined[RANDOM_TRACE_MOST + 1] = {
        false}; // event i is in a window that goes on to i + 1, or next to one
    rb_rng_seed(&rng, x->seed);
    for (uint32_t i = 0; i < (uint32_t)r; i++) {
        const uint32_t from = (uint32_t)rb_rng_below(&rng, t->count - (uint64_t)k + 1);
        for (uint32_t j = from; j < from + (uint32_t)k; j++)
            x->seen[j] = joined[j] = true;
    }
    for (uint32_t from = 0; from < t->count; from++) {
        struct oracle window;
        uint32_t to = from;
        while (to < t->count && joined[to])
            to++;
        if (to == from)
            continue;
        oracle_build(&window, t->event + from, to - from);
        x->racy_events += oracle_racy(&window, x->take + from, x->racy + from);
        x->windows++;
        oracle_free(&window);
        from = to;
    }
}

void expect(struct expected *x, const struct subject *s, const struct rb_sampler_spec *spec, uint64_t seed)
{
    const struct random_trace *t = s->trace;

    *x = (struct expected){.spec = *spec, .seed = seed};
    if (spec->ops->windows) {
        for (uint32_t i = 0; i < t->count; i++)
            x->take[i] = RB_TAKE;
        expect_windows(x, s);
        return;
    }
    test_decisions(&s->reader, t->event, t->count, spec, seed, x->take);
    for (uint32_t i = 0; i < t->count; i++) {
        x->seen[i] = true;
        x->checks |= x->take[i] == RB_CHECK;
    }
    x->racy_events = oracle_racy(&s->oracle, x->take, x->racy);
}

// ---- reports -------------------------------------------------------------------------------------------

// One line: index1,index2,variable,thread1,thread2,kind1,kind2,location1,location2
static const char *line_wrong(const struct random_trace *t, const char *line, struct reported *race)
{
    char said[160], should[160];
    uint64_t first, second;

    if (sscanf(line, "%" SCNu64 ",%" SCNu64 ",%159s", &first, &second, said) != 3)
        return "a line without its fields";
    if (first >= second || second >= t->count)
        return "event numbers out of order";
    const struct rb_event *a = &t->event[first], *b = &t->event[second];
    snprintf(should, sizeof(should), "V%" PRIu64 ",T%u,T%u,%s,%s,%u,%u", b->target, a->thread, b->thread,
             rb_op_info[a->op].text, rb_op_info[b->op].text, a->location, b->location);
    *race = (struct reported){(uint32_t)first, (uint32_t)second};
    return strcmp(said, should) == 0 ? NULL : "a line says something else than its two events";
}

void report_make(struct report *p, struct subject *s, const struct rb_engine_ops *engine,
                 const struct expected *x, bool lenient)
{
    struct rb_replay_options o = {.engine = engine, .sampler = x->spec, .seed = x->seed, .lenient = lenient};

    p->csv = NULL;
    p->races = 0;
    p->malformed = NULL;
    p->error = (struct rb_error){0};
    o.races = open_memstream(&p->csv, &p->bytes);
    if (!o.races)
        abort();
    p->status = rb_replay(&s->reader, &o, &p->result, &p->error);
    fclose(o.races);
    for (const char *line = p->csv; *line && !p->malformed; line = strchr(line, '\n') + 1)
        p->malformed = p->races == RANDOM_TRACE_MOST ? "more warnings than events"
                                                     : line_wrong(s->trace, line, &p->race[p->races++]);
}

void report_free(struct report *p)
{
    rb_result_free(&p->result);
    free(p->csv);
    p->csv = NULL;
}

const char *report_check_true(const struct report *p, const struct subject *s, const struct expected *x)
{
    if (p->malformed)
        return p->malformed;
    for (uint32_t i = 0; i < p->races; i++) {
        const struct reported *r = &p->race[i];
        if (x->take[r->first] != RB_TAKE || x->take[r->second] == RB_PASS)
            return "reports an access that was not sampled";
        if (!oracle_unordered(&s->oracle, r->first, r->second))
            return "false report: the two are ordered";
        if (!x->seen[r->first] || !x->seen[r->second])
            return "reports an access outside of the windows";
    }
    return NULL;
}

// Distinct static races and racy variables of the CSV.
static bool distinct_agree(const struct report *p, const struct random_trace *t)
{
    uint64_t pairs = 0, variables = 0;

    for (uint32_t i = 0; i < p->races; i++) {
        const struct rb_event *a = &t->event[p->race[i].first], *b = &t->event[p->race[i].second];
        bool new_pair = true, new_variable = true;
        for (uint32_t j = 0; j < i; j++) {
            const struct rb_event *c = &t->event[p->race[j].first], *d = &t->event[p->race[j].second];
            new_variable &= d->target != b->target;
            new_pair &= !(c->location == a->location && d->location == b->location) &&
                        !(c->location == b->location && d->location == a->location);
        }
        pairs += new_pair;
        variables += new_variable;
        if (!rb_pair_find(&p->result.static_races, a->location, b->location) ||
            !rb_pair_find(&p->result.racy_variables, b->target, b->target))
            return false;
    }
    return pairs == p->result.static_races.count && variables == p->result.racy_variables.count;
}

static const char *counts_wrong(const struct report *p, const struct random_trace *t,
                                const struct expected *x)
{
    const struct rb_result *r = &p->result;
    uint64_t accesses = 0, sampled = 0, events = 0, acquires = 0, releases = 0;

    for (uint32_t i = 0; i < t->count; i++) {
        const struct rb_event *e = &t->event[i];
        accesses += e->op < RB_FIRST_NON_ACCESS; // of the whole trace, windows or not
        if (!x->seen[i])
            continue;
        events++;
        acquires += rb_op_info[e->op].acquires;
        releases += rb_op_info[e->op].releases;
        sampled += e->op < RB_FIRST_NON_ACCESS && x->take[i] == RB_TAKE;
    }
    if (r->events_read != events || r->accesses != accesses)
        return "events or accesses counted wrongly";
    if (r->sampled != sampled)
        return "sampled accesses counted wrongly";
    if (r->acquires != acquires || r->releases != releases || r->acquires_skipped > acquires)
        return "acquires or releases counted wrongly";
    if (r->windows != x->windows)
        return "windows counted wrongly";
    if (!x->spec.ops->windows &&
        (r->lenient_acquires != t->bad_acquires || r->lenient_releases != t->bad_releases))
        return "misuse of locks counted wrongly";
    if (r->starved != 0)
        return "starved with memory to spare";
    return NULL;
}

const char *report_check(const struct report *p, const struct subject *s, const struct expected *x)
{
    const char *wrong;

    if (p->status != 0)
        return p->error.text;
    wrong = report_check_true(p, s, x);
    if (wrong)
        return wrong;
    for (uint32_t i = 1; i < p->races; i++)
        if (p->race[i - 1].second >= p->race[i].second)
            return "an event is warned of twice, or out of order";
    if (p->result.warnings != p->races)
        return "the number of warnings is not that of the CSV";
    if (!distinct_agree(p, s->trace))
        return "static races or racy variables are not those of the CSV";
    return counts_wrong(p, s->trace, x);
}

const char *report_check_exact(const struct report *p, const struct subject *s, const struct expected *x)
{
    const char *wrong = report_check(p, s, x);

    if (wrong)
        return wrong;
    for (uint32_t i = 0; i < p->races; i++) {
        if (!x->racy[p->race[i].second])
            return "warns of an event that is not racy";
        if (!x->spec.ops->windows && !oracle_races(&s->oracle, x->take, p->race[i].first, p->race[i].second))
            return "names a first access that was discarded";
    }
    // No event twice, none that is not racy: the same number is the same set.
    return p->races == x->racy_events ? NULL : "misses a racy event";
}

const char *report_check_first(const struct report *p, const struct subject *s, const struct expected *x)
{
    const struct random_trace *t = s->trace;
    const char *wrong = report_check(p, s, x);

    if (wrong || x->checks || x->windows > 1) // a variable may have a first race in each window
        return wrong;
    for (uint32_t i = 0; i < t->count; i++) {
        bool first = x->racy[i], found = false;
        for (uint32_t j = 0; j < i && first; j++)
            first = !(x->racy[j] && t->event[j].target == t->event[i].target);
        for (uint32_t j = 0; j < p->races; j++)
            found |= p->race[j].second == i;
        if (found && !x->racy[i])
            return "warns of an event that is not racy";
        if (first && !found)
            return "misses the first race of a variable";
    }
    return NULL;
}

struct findings {
    const struct report *p;
    const struct expected *x;
};

static const char *verdict(const void *context, uint32_t i)
{
    const struct findings *f = context;
    bool said = false;

    for (uint32_t j = 0; j < f->p->races; j++)
        said |= f->p->race[j].second == i;
    if (said != f->x->racy[i])
        return said ? "<- reported, not racy" : "<- racy, not reported";
    return said ? "racy" : f->x->take[i] == RB_TAKE ? "taken" : f->x->take[i] == RB_CHECK ? "checked" : "";
}

void report_print(const struct report *p, const struct subject *s, const struct expected *x,
                  const char *engine, const char *wrong)
{
    const struct findings f = {p, x};

    fprintf(stderr, "sampler %s, engine %s: %s\n", x->spec.text, engine, wrong);
    random_trace_print(s->trace, verdict, &f);
    fprintf(stderr, "%s", p->csv);
}
