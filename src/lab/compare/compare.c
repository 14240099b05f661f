// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The measurement of `compare`. Two passes come first and are not timed: FastTrack and SO on all accesses.
// They bring the file into the page cache and give the reference that recall is measured against. Then each
// run replays every row once, so that a slow moment of the machine affects all rows alike. Times are
// medians over the runs.
//
// Rare and frequent (LiteRace, 5.3): a static race is rare if it occurs fewer than 3 times in a million
// accesses. FastTrack forgets accesses after the first race on a variable and so undercounts. The
// occurrences are therefore those of SO, which is exact, unless FastTrack counted more: the two may name
// different partners.
#include "lab/compare/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RARE_PER_MILLION 3.0

// The races of the baseline, which the other rows are to find again.
struct reference {
    struct rb_pair_set static_races, variables, rare, frequent;
    uint64_t accesses;
};

// ---- statistics ----------------------------------------------------------------------------------------

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

struct rb_summary rb_summarize(double *values, size_t count)
{
    struct rb_summary s = {NAN, NAN, NAN, NAN, NAN};
    double sum = 0, squares = 0;
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        if (!isnan(values[i]))
            sum += values[n++] = values[i];
    if (!n)
        return s;
    qsort(values, n, sizeof(*values), by_value);
    s.mean = sum / (double)n;
    s.median = (values[(n - 1) / 2] + values[n / 2]) / 2;
    s.low = values[0];
    s.high = values[n - 1];
    for (size_t i = 0; i < n; i++)
        squares += (values[i] - s.mean) * (values[i] - s.mean);
    if (n > 1) // equal values have no spread, but their mean may be rounded
        s.sd = s.low == s.high ? 0 : sqrt(squares / (double)(n - 1));
    return s;
}

static double share_of(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : NAN;
}

// ---- rows ----------------------------------------------------------------------------------------------

static bool takes_all(const struct rb_sampler_spec *s)
{
    return !strcmp(s->ops->name, "all");
}

// Returns the rate that the sampler's name promises; NaN if it promises none.
static double nominal_rate(const struct rb_sampler_spec *s)
{
    static const struct {
        const char *name;
        double rate;
    } fixed[] = {{"all", 1}, {"none", 0}, {"tl-fx", 0.05}, {"g-fx", 0.1}, {"rnd10", 0.1}, {"rnd25", 0.25}};

    if (!strncmp(s->ops->parameters, ":P", 2))
        return s->p;
    for (size_t i = 0; i < RB_LENGTH(fixed); i++)
        if (!strcmp(s->ops->name, fixed[i].name))
            return fixed[i].rate;
    return NAN;
}

static void add_row(struct rb_comparison *c, const struct rb_engine_ops *engine,
                    const struct rb_sampler_spec *sampler)
{
    if (engine->predict && sampler->ops->windows)
        return; // a predictive engine needs the whole trace
    if (engine == &rb_fasttrack && takes_all(sampler))
        c->baseline = c->row_count;
    c->rows[c->row_count++] =
        (struct rb_compare_row){.engine = engine, .sampler = *sampler, .nominal = nominal_rate(sampler)};
}

// Makes the rows, sampler by sampler, in the order of the plan. The baseline joins the other rows of `all`,
// or comes first.
static int make_rows(const struct rb_compare_plan *p, struct rb_comparison *c, struct rb_error *e)
{
    struct rb_sampler_spec all;
    bool has_all = false, has_fasttrack = false;
    const int status = rb_sampler_parse("all", &all, e);

    if (status < 0)
        return status;
    c->rows = calloc(p->engine_count * p->sampler_count + 1, sizeof(*c->rows));
    if (!c->rows)
        return rb_internal(e, "out of memory for %zu rows", p->engine_count * p->sampler_count + 1);
    for (size_t i = 0; i < p->engine_count; i++)
        has_fasttrack |= p->engines[i] == &rb_fasttrack;
    for (size_t i = 0; i < p->sampler_count; i++)
        has_all |= takes_all(&p->samplers[i]);
    if (!has_all)
        add_row(c, &rb_fasttrack, &all);
    for (size_t s = 0; s < p->sampler_count; s++) {
        if (takes_all(&p->samplers[s]) && !has_fasttrack)
            add_row(c, &rb_fasttrack, &all);
        for (size_t i = 0; i < p->engine_count; i++)
            add_row(c, p->engines[i], &p->samplers[s]);
    }
    return 0;
}

size_t rb_compare_group_end(const struct rb_comparison *c, size_t first)
{
    size_t i = first + 1;

    while (i < c->row_count && !strcmp(c->rows[i].sampler.text, c->rows[first].sampler.text))
        i++;
    return i;
}

// ---- replays -------------------------------------------------------------------------------------------

// Progress of the whole comparison, computed from that of the current replay.
struct steps {
    const struct rb_compare_plan *plan;
    uint64_t done, total;
};

#define STEP 1024u

static void show_step(void *context, uint64_t done, uint64_t total)
{
    const struct steps *s = context;
    const double share = total ? (double)done / (double)total : 0;

    if (s->plan->progress)
        s->plan->progress(s->plan->progress_context, s->done * STEP + (uint64_t)(share * STEP),
                          s->total * STEP);
}

static int run_replay(struct rb_reader *r, struct steps *steps, const struct rb_engine_ops *engine,
                      const struct rb_sampler_spec *sampler, uint64_t seed, struct rb_result *result,
                      struct rb_error *e)
{
    const struct rb_replay_options o = {.engine = engine,
                                        .sampler = *sampler,
                                        .seed = seed,
                                        .lenient = steps->plan->lenient,
                                        .progress = show_step,
                                        .progress_context = steps};
    const int status = rb_replay(r, &o, result, e);

    steps->done++;
    show_step(steps, 0, 1);
    return status;
}

static bool split_by_frequency(struct reference *ref, const struct rb_pair_set *exact)
{
    for (uint64_t i = 0; i < ref->static_races.capacity; i++) {
        const struct rb_pair_slot *p = &ref->static_races.slots[i];
        if (!p->times)
            continue;
        const struct rb_pair_slot *more = rb_pair_find(exact, p->low, p->high);
        const uint64_t times = more && more->times > p->times ? more->times : p->times;
        const bool rare = (double)times * 1e6 < RARE_PER_MILLION * (double)ref->accesses;
        if (!rb_pair_add(rare ? &ref->rare : &ref->frequent, p->low, p->high))
            return false;
    }
    return true;
}

static int make_reference(struct rb_reader *r, struct steps *steps, struct rb_comparison *c,
                          struct reference *ref, struct rb_error *e)
{
    const struct rb_sampler_spec *all = &c->rows[c->baseline].sampler;
    struct rb_result base, exact = {0};
    int status = run_replay(r, steps, &rb_fasttrack, all, c->seed, &base, e);

    if (status == 0)
        status = run_replay(r, steps, &rb_so, all, c->seed, &exact, e);
    if (status == 0) {
        ref->accesses = c->accesses = base.accesses;
        c->lenient_releases = base.lenient_releases;
        c->lenient_acquires = base.lenient_acquires;
        ref->static_races = base.static_races; // the reference owns them now
        ref->variables = base.racy_variables;
        base.static_races = base.racy_variables = (struct rb_pair_set){0};
        if (!split_by_frequency(ref, &exact.static_races))
            status = rb_internal(e, "out of memory for the static races");
        c->rare = ref->rare.count;
        c->frequent = ref->frequent.count;
    }
    rb_result_free(&base);
    rb_result_free(&exact);
    return status;
}

static double recall_of(const struct rb_pair_set *wanted, const struct rb_pair_set *found)
{
    return share_of(rb_pair_common(wanted, found), wanted->count);
}

static void take_values(const struct rb_result *x, const struct reference *ref, double v[RB_METRICS])
{
    v[RB_M_warnings] = (double)x->warnings;
    v[RB_M_racy_variables] = (double)x->racy_variables.count;
    v[RB_M_static_races] = (double)x->static_races.count;
    v[RB_M_recall] = recall_of(&ref->static_races, &x->static_races);
    v[RB_M_recall_variables] = recall_of(&ref->variables, &x->racy_variables);
    v[RB_M_recall_rare] = recall_of(&ref->rare, &x->static_races);
    v[RB_M_recall_frequent] = recall_of(&ref->frequent, &x->static_races);
    v[RB_M_sampled] = (double)x->sampled;
    v[RB_M_esr] = share_of(x->sampled, ref->accesses);
    v[RB_M_acquires] = (double)x->acquires;
    v[RB_M_acquires_skipped] = (double)x->acquires_skipped;
    v[RB_M_skipped_share] = share_of(x->acquires_skipped, x->acquires);
    v[RB_M_releases] = (double)x->releases;
    v[RB_M_releases_processed] = (double)x->releases_processed;
    v[RB_M_deep_copies] = (double)x->deep_copies;
    v[RB_M_entries_traversed] = (double)x->entries_traversed;
    v[RB_M_entries_total] = (double)x->entries_total;
    v[RB_M_saved_share] = 1 - share_of(x->entries_traversed, x->entries_total);
    v[RB_M_events_read] = (double)x->events_read;
    v[RB_M_seconds] = x->seconds;
    v[RB_M_cpu_seconds] = x->cpu_seconds;
}

// Replays every row once a run and fills values[row][metric][run].
static int measure_rows(struct rb_reader *r, struct steps *steps, const struct reference *ref,
                        struct rb_comparison *c, double *values, struct rb_error *e)
{
    double v[RB_METRICS];

    for (uint32_t run = 0; run < c->runs; run++) {
        for (size_t i = 0; i < c->row_count; i++) {
            struct rb_compare_row *row = &c->rows[i];
            struct rb_result x;
            const int status = run_replay(r, steps, row->engine, &row->sampler, c->seed + run, &x, e);
            if (status == 0) {
                take_values(&x, ref, v);
                for (size_t m = 0; m < RB_METRICS; m++)
                    values[(i * RB_METRICS + m) * c->runs + run] = v[m];
                row->by_location |= x.regions_are_locations;
                c->raced |= x.warnings != 0;
            }
            rb_result_free(&x);
            if (status < 0)
                return status;
        }
    }
    return 0;
}

static void summarize_rows(struct rb_comparison *c, double *values)
{
    for (size_t i = 0; i < c->row_count; i++)
        for (size_t m = 0; m < RB_METRICS; m++)
            c->rows[i].of[m] = rb_summarize(values + (i * RB_METRICS + m) * c->runs, c->runs);
    const double base = c->rows[c->baseline].of[RB_M_cpu_seconds].median;
    for (size_t i = 0; i < c->row_count; i++) {
        const double own = c->rows[i].of[RB_M_cpu_seconds].median;
        c->rows[i].speedup = own > 0 ? base / own : NAN;
    }
}

int rb_compare(struct rb_reader *r, const struct rb_compare_plan *plan, struct rb_comparison *c,
               struct rb_error *e)
{
    struct reference ref = {0};
    double *values = NULL;

    *c = (struct rb_comparison){.trace = r->path,
                                .events = r->header.events,
                                .threads = r->header.threads_run,
                                .locks = rb_reader_count(r, RBT_LOCKS),
                                .variables = rb_reader_count(r, RBT_VARIABLES),
                                .runs = plan->runs,
                                .seed = plan->seed};
    int status = make_rows(plan, c, e);
    if (status < 0)
        return status;
    struct steps steps = {.plan = plan, .total = 2 + (uint64_t)c->row_count * c->runs};
    values = calloc(c->row_count * RB_METRICS * c->runs, sizeof(*values));
    if (!values)
        status = rb_internal(e, "out of memory for the results of %u runs", c->runs);
    if (status == 0)
        status = make_reference(r, &steps, c, &ref, e);
    if (status == 0)
        status = measure_rows(r, &steps, &ref, c, values, e);
    if (status == 0)
        summarize_rows(c, values);
    rb_pair_free(&ref.static_races);
    rb_pair_free(&ref.variables);
    rb_pair_free(&ref.rare);
    rb_pair_free(&ref.frequent);
    free(values);
    return status;
}

void rb_comparison_free(struct rb_comparison *c)
{
    free(c->rows);
    *c = (struct rb_comparison){0};
}
