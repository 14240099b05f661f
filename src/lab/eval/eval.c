// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The measurement of `eval`. Each thread takes one trace after the other, opens it, compares it with its
// label, and runs every detector on it. Traces share only the table of results, each cell of which has one
// writer. Sums over runs and rules are added under a lock.
#include "lab/eval/eval.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lab/compare/compare.h"
#include "lab/eval/eval_private.h"

struct crew {
    struct rb_eval *v;
    const struct rb_eval_plan *plan;
    pthread_mutex_t lock;
    // protected by the lock
    size_t next, done;
    int status; // of the lowest-numbered trace that failed, so that it does not depend on speed
    size_t failed;
    struct rb_error error;
};

// ---- one trace -----------------------------------------------------------------------------------------

// The warnings of one replay that are kept.
struct heard {
    const struct rb_eval_label *label;
    uint64_t variable;
    struct rb_eval_cell *cell;
    struct rb_eval_warned *warned; // engines: the events with a warning; NULL for samplers
    bool found;
};

static void hear_warning(void *context, uint64_t first, uint64_t second, uint64_t variable)
{
    struct heard *h = context;

    if (second == h->label->events[1] && variable == h->variable)
        h->found = true;
    if (!h->warned)
        return;
    rb_eval_warned_add(h->warned, second);
    for (size_t i = 0; i < h->label->negative_count; i++) {
        const struct rb_eval_negative *n = &h->label->negatives[i];
        h->cell->false_alarms[n->proof] += n->events[0] == first && n->events[1] == second;
    }
}

static int run_detector(struct rb_reader *r, struct heard *h, const struct rb_eval_detector *d,
                        uint64_t first_seed, bool *found, struct rb_error *e)
{
    for (uint32_t run = 0; run < d->runs; run++) {
        const struct rb_replay_options o = {.engine = d->engine,
                                            .sampler = d->sampler,
                                            .seed = first_seed + run,
                                            .warned = hear_warning,
                                            .warned_context = h};
        struct rb_result result;
        const int status = rb_replay(r, &o, &result, e);
        h->cell->warnings += result.warnings;
        h->cell->sampled += result.sampled;
        h->cell->accesses += result.accesses;
        h->cell->seconds += result.seconds;
        h->cell->found += h->found;
        found[run] = h->found;
        h->found = false;
        rb_result_free(&result);
        if (status < 0)
            return status;
    }
    return 0;
}

// The contribution of one trace to the sums.
struct part {
    bool *found;                   // [detector][run]
    struct rb_eval_warned *warned; // [detector]
    bool locks_only;
    uint64_t events;
};

static int run_trace(const struct crew *s, size_t trace, struct part *part, struct rb_error *e)
{
    const struct rb_eval *v = s->v;
    const struct rb_eval_label *label = &v->labels->traces[trace];
    struct rb_events events = {0};
    struct rb_reader reader;
    int status = s->plan->open(label->path, &reader, e);

    if (status < 0)
        return status;
    status = rb_events_load(&reader, &events, e);
    if (status == 0)
        status = rb_eval_trace_check(&events, &reader, label, e);
    if (status == 0 && rb_eval_locks_only(&events, &part->locks_only) < 0)
        status = rb_internal(e, "out of memory for %s", label->path);
    part->events = events.count;
    for (size_t d = 0; d < v->detector_count && status == 0; d++) {
        struct heard h = {.label = label,
                          .variable = events.at[label->events[0]].target,
                          .cell = &v->cells[d * v->labels->count + trace],
                          .warned = v->detectors[d].exact ? &part->warned[d] : NULL};
        part->warned[d].count = 0;
        status = run_detector(&reader, &h, &v->detectors[d], v->seed + trace * v->detectors[d].runs,
                              &part->found[d * v->runs], e);
        if (status == 0 && part->warned[d].out_of_memory)
            status = rb_internal(e, "out of memory for the warnings of %s", label->path);
    }
    rb_events_free(&events);
    rb_reader_close(&reader);
    return status;
}

static void add_part(struct rb_eval *v, size_t trace, const struct part *part)
{
    const struct rb_eval_label *label = &v->labels->traces[trace];

    v->events += part->events;
    for (size_t d = 0; d < v->detector_count; d++)
        for (uint32_t run = 0; run < v->detectors[d].runs; run++)
            v->found_in_run[(d * v->labels->program_count + label->program) * v->runs + run] +=
                part->found[d * v->runs + run];
    rb_eval_rules_check(v, trace, part->warned, part->locks_only);
}

static void *work_on_traces(void *context)
{
    struct crew *s = context;
    struct rb_eval *v = s->v;
    struct part part = {.found = calloc(v->detector_count * v->runs, sizeof(*part.found)),
                        .warned = calloc(v->detector_count, sizeof(*part.warned))};

    pthread_mutex_lock(&s->lock);
    while (s->status == 0 && s->next < v->labels->count) {
        const size_t trace = s->next++;
        struct rb_error e = {0};
        pthread_mutex_unlock(&s->lock);
        const int status = part.found && part.warned ? run_trace(s, trace, &part, &e)
                                                     : rb_internal(&e, "out of memory for the results");
        pthread_mutex_lock(&s->lock);
        if (status == 0) {
            add_part(v, trace, &part);
        } else if (s->status == 0 || trace < s->failed) {
            s->status = status;
            s->failed = trace;
            s->error = e;
        }
        s->done++;
        if (s->plan->progress)
            s->plan->progress(s->plan->progress_context, s->done, v->labels->count);
    }
    pthread_mutex_unlock(&s->lock);
    for (size_t d = 0; part.warned && d < v->detector_count; d++)
        free(part.warned[d].at);
    free(part.warned);
    free(part.found);
    return NULL;
}

// ---- all -----------------------------------------------------------------------------------------------

static bool takes_all(const struct rb_sampler_spec *s)
{
    return !strcmp(s->ops->name, "all");
}

// Makes the list of detectors: engines on all accesses, then samplers with so. The sampler `all` is omitted
// if so is among the engines.
static int make_detectors(struct rb_eval *v, const struct rb_eval_plan *p, struct rb_error *e)
{
    struct rb_sampler_spec all;
    bool has_so = false;
    const int status = rb_sampler_parse("all", &all, e);

    if (status < 0)
        return status;
    v->detectors = calloc(p->engine_count + p->sampler_count + 1, sizeof(*v->detectors));
    if (!v->detectors)
        return rb_internal(e, "out of memory for the detectors");
    for (size_t i = 0; i < p->engine_count; i++) {
        has_so |= p->engines[i] == &rb_so;
        v->detectors[v->detector_count++] = (struct rb_eval_detector){
            .engine = p->engines[i], .sampler = all, .name = p->engines[i]->name, .exact = true, .runs = 1};
    }
    for (size_t i = 0; i < p->sampler_count; i++) {
        const bool exact = takes_all(&p->samplers[i]);
        if (exact && has_so)
            continue;
        v->detectors[v->detector_count++] = (struct rb_eval_detector){.engine = &rb_so,
                                                                      .sampler = p->samplers[i],
                                                                      .name = p->samplers[i].text,
                                                                      .exact = exact,
                                                                      .runs = exact ? 1 : p->runs};
    }
    for (size_t d = 0; d < v->detector_count; d++)
        if (v->detectors[d].runs > v->runs)
            v->runs = v->detectors[d].runs;
    return v->detector_count ? 0 : rb_bad_input(e, "--engines, --samplers: expected at least one of either");
}

int rb_eval_run(struct rb_eval *v, const struct rb_eval_labels *labels, const struct rb_eval_plan *plan,
                struct rb_error *e)
{
    struct crew s = {.v = v, .plan = plan, .lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t threads[RB_EVAL_JOBS];
    uint32_t started = 0;

    *v = (struct rb_eval){.labels = labels, .seed = plan->seed};
    const int status = make_detectors(v, plan, e);
    if (status < 0)
        return status;
    v->cells = calloc(v->detector_count * labels->count, sizeof(*v->cells));
    v->found_in_run = calloc(v->detector_count * labels->program_count * v->runs, sizeof(*v->found_in_run));
    if (!v->cells || !v->found_in_run)
        return rb_internal(e, "out of memory for the results");
    rb_eval_rules_start(v);
    // The calling thread is one job. With fewer threads than requested the result is the same.
    while (started + 1 < plan->jobs && started + 1 < labels->count &&
           pthread_create(&threads[started], NULL, work_on_traces, &s) == 0)
        started++;
    work_on_traces(&s);
    for (uint32_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    if (s.status < 0)
        *e = s.error;
    return s.status;
}

void rb_eval_free(struct rb_eval *v)
{
    free(v->detectors);
    free(v->cells);
    free(v->found_in_run);
    *v = (struct rb_eval){0};
}

// ---- results -------------------------------------------------------------------------------------------

static double found_sd(const struct rb_eval *v, size_t detector, size_t program)
{
    const uint32_t runs = v->detectors[detector].runs;
    double *values = calloc(runs, sizeof(*values)), sd = NAN;

    for (uint32_t run = 0; values && run < runs; run++)
        for (size_t p = 0; p < v->labels->program_count; p++)
            if (program == RB_EVAL_ALL || program == p)
                values[run] += v->found_in_run[(detector * v->labels->program_count + p) * v->runs + run];
    if (values)
        sd = rb_summarize(values, runs).sd;
    free(values);
    return sd;
}

struct rb_eval_score rb_eval_score(const struct rb_eval *v, size_t detector, size_t program)
{
    const double runs = v->detectors[detector].runs;
    struct rb_eval_score s = {.found_sd = found_sd(v, detector, program)};

    for (size_t i = 0; i < v->labels->count; i++) {
        const struct rb_eval_cell *c = &v->cells[detector * v->labels->count + i];
        if (program != RB_EVAL_ALL && v->labels->traces[i].program != program)
            continue;
        s.traces++;
        s.found += c->found / runs;
        s.missed += (runs - c->found) / runs;
        s.seconds += c->seconds / runs;
        s.warnings += (double)c->warnings / runs;
        s.sampled += (double)c->sampled / runs;
        s.accesses += (double)c->accesses / runs;
        for (int p = 0; p < RB_PROOFS; p++)
            s.false_alarms[p] += c->false_alarms[p];
    }
    s.recall = s.traces ? s.found / (double)s.traces : NAN;
    s.rate = s.accesses > 0 ? s.sampled / s.accesses : NAN;
    return s;
}

static unsigned bin_of(uint64_t distance)
{
    return distance ? 64 - (unsigned)__builtin_clzll(distance) : 0;
}

size_t rb_eval_bins(const struct rb_eval *v, size_t detector, struct rb_eval_bin bins[RB_EVAL_BINS])
{
    size_t used = 0;

    for (unsigned b = 0; b < RB_EVAL_BINS; b++)
        bins[b] = (struct rb_eval_bin){.low = b ? UINT64_C(1) << (b - 1) : 0,
                                       .high = b == 64 ? UINT64_MAX : (UINT64_C(1) << b) - 1};
    for (size_t i = 0; i < v->labels->count; i++) {
        const unsigned b = bin_of(v->labels->traces[i].distance);
        bins[b].traces++;
        bins[b].found +=
            v->cells[detector * v->labels->count + i].found / (double)v->detectors[detector].runs;
        if (b >= used)
            used = b + 1;
    }
    return used;
}

bool rb_eval_missed_by_all(const struct rb_eval *v, size_t trace)
{
    for (size_t d = 0; d < v->detector_count; d++)
        if (v->cells[d * v->labels->count + trace].found)
            return false;
    return true;
}
