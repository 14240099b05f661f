// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lab/inject/inject.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "lab/inject/constraints.h"
#include "lab/inject/inject_files.h"
#include "lab/inject/negatives.h"
#include "report/page.h"

#define LABELS_EVERY 1.0 // seconds

// State shared by all workers. `mutex` protects the fields after it; the fields before it are read-only.
struct injection {
    const struct rb_inject_options *options;
    struct rb_inject_result *result;
    const struct rb_reader *base;
    struct rb_events events;
    struct rb_model model;
    struct rb_output output;
    uint32_t *points; // of each trace
    struct rb_solver *solvers;
    int stop; // atomic; set under the mutex

    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct rb_labels labels;
    uint64_t next;    // number of the next trace to make
    uint64_t waiting; // traces written and not yet in labels.json
    unsigned working; // number of running workers
    struct rb_error *error;
    int status;
};

// State of one worker.
struct worker {
    struct injection *all;
    struct rb_spread spread;
    struct rb_reach reach;
    struct rb_solver *solver;
    struct rb_event *trace; // the events in the order of the file
};

// The result of one trace.
struct made {
    struct rb_spread_facts facts;
    struct rb_verify_pair pair;
    struct rb_negative negatives[RB_MOST_NEGATIVES];
    uint32_t negative_count, reversed;
    struct rb_solver_counts proofs;
    uint64_t races;
    double seconds;
    char file[320];
};

static double seconds_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// ---- one trace -----------------------------------------------------------------------------------------

// Writes the order as events. The kind of race depends on which event of the pair is first in the trace.
static void write_down(struct worker *w)
{
    static const enum rb_op ops[][2] = {[RB_KIND_WW] = {RB_WRITE, RB_WRITE},
                                        [RB_KIND_RW] = {RB_READ, RB_WRITE},
                                        [RB_KIND_WR] = {RB_WRITE, RB_READ}};
    const struct injection *all = w->all;
    const struct rb_order *o = &w->spread.order;
    const uint32_t n = all->model.count;
    unsigned met = 0;

    for (uint32_t i = 0; i < o->count; i++) {
        const uint32_t event = o->event[i];
        if (event < n) {
            w->trace[i] = all->model.base[event];
            continue;
        }
        w->trace[i] = (struct rb_event){.target = all->output.variable_id,
                                        .thread = o->thread[event - n],
                                        .location = all->output.location_id[event - n],
                                        .op = ops[all->options->kind][met++]};
    }
}

static int verify_trace(struct worker *w, const char *file, struct rb_verify_pair *pair, struct rb_error *e)
{
    const struct injection *all = w->all;
    const struct rb_verify_world world = {.threads = all->model.threads,
                                          .locks = all->model.locks,
                                          .variables = all->model.variables + 1,
                                          .names = all->base,
                                          .base_path = all->options->base,
                                          .other_path = file};
    struct rb_error wrong = {0};

    if (rb_verify_injected(&world, all->events.at, all->events.count, w->trace, w->spread.order.count,
                           all->model.variables, pair, &wrong) == 0)
        return 0;
    return rb_internal(e, "the verifier refuses a trace that was made, and it is not written: %s",
                       wrong.text);
}

static int make_trace(struct worker *w, uint64_t number, struct made *m, struct rb_error *e)
{
    struct injection *all = w->all;
    const struct rb_inject_options *o = all->options;
    const double began = seconds_now();
    struct rb_rng rng;
    int status;

    *m = (struct made){0};
    rb_rng_seed(&rng, rb_mix64(o->seed) + number);
    rb_spread_pair(&w->spread, all->points[number], &o->plan, &rng, &m->facts);
    m->reversed = rb_order_reversed(&w->spread.order);
    snprintf(m->file, sizeof(m->file), "%s-%05" PRIu64 ".%s", all->labels.stem, number,
             o->text ? "std" : "rbt");
    write_down(w);
    status = verify_trace(w, m->file, &m->pair, e);
    if (status == 0 && o->negatives)
        m->negative_count = rb_negatives(&w->reach, &w->spread.order, w->solver, o->plan.window, &rng,
                                         m->negatives, o->negatives, &m->proofs, &m->races);
    if (status == 0)
        status = rb_output_write(&all->output, w->trace, w->spread.order.count, o->dir, m->file, e);
    m->seconds = seconds_now() - began;
    return status;
}

// ---- labels --------------------------------------------------------------------------------------------

static json_t *json_name(const struct rb_reader *r, enum rbt_table table, uint64_t id)
{
    char scratch[32];
    char *text = rb_utf8(rb_reader_name(r, table, id, scratch));
    json_t *name = text ? json_string(text) : NULL;

    free(text);
    return name;
}

static json_t *trace_label(const struct injection *all, uint64_t number, const struct made *m)
{
    const struct rb_inject_options *o = all->options;
    char program[160];
    char *base = rb_utf8(o->base);
    const struct rb_verify_pair *p = &m->pair;
    const json_int_t unknown = (json_int_t)(m->facts.solver.unknown + m->proofs.unknown);

    rb_program_name(o->base, program, sizeof(program));
    json_t *label =
        json_pack("{s:s, s:s, s:s, s:I, s:s, s:[I,I], s:[o,o], s:s, s:I, s:I, s:I, s:I, s:I, s:f, s:I}",
                  "file", m->file, "base", base ? base : "", "program", program, "point",
                  (json_int_t)all->points[number], "kind", rb_kind_name(p->op), "events",
                  (json_int_t)p->at[0], (json_int_t)p->at[1], "threads",
                  json_name(all->base, RBT_THREADS, p->thread[0]),
                  json_name(all->base, RBT_THREADS, p->thread[1]), "variable", all->output.variable,
                  "distance", (json_int_t)p->distance, "reversed_sections", (json_int_t)m->reversed,
                  "solver_calls", (json_int_t)(m->facts.solver.calls + m->proofs.calls), "solver_unknown",
                  unknown, "scheduler_moves", (json_int_t)m->facts.moves, "seconds", m->seconds, "seed",
                  (json_int_t)o->seed);
    free(base);
    return label;
}

static json_t *negative_labels(const struct made *m)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < m->negative_count && list; i++) {
        const struct rb_negative *n = &m->negatives[i];
        if (json_array_append_new(list, json_pack("{s:s, s:[I,I], s:s, s:[I,I]}", "file", m->file, "events",
                                                  (json_int_t)n->at[0], (json_int_t)n->at[1], "proof",
                                                  rb_proof_names[n->proof], "window", (json_int_t)n->from,
                                                  (json_int_t)n->to)) < 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static void add_counts(struct rb_solver_counts *to, const struct rb_solver_counts *from)
{
    to->calls += from->calls;
    to->sat += from->sat;
    to->unsat += from->unsat;
    to->unknown += from->unknown;
}

static void count_trace(struct injection *all, const struct made *m)
{
    struct rb_inject_result *r = all->result;
    const struct rb_spread_plan *plan = &all->options->plan;
    const double d = (double)m->pair.distance;

    r->made++;
    r->short_of += plan->bounded && m->pair.distance < plan->distance;
    r->reversed += m->reversed > 0;
    r->solver_traces += m->facts.solver.sat > 0;
    r->moves += m->facts.moves;
    r->races += m->races;
    add_counts(&r->solver, &m->facts.solver);
    add_counts(&r->proofs, &m->proofs);
    for (uint32_t i = 0; i < m->negative_count; i++)
        r->negatives[m->negatives[i].proof]++;
    r->distance_sum += d;
    r->distance_squares += d * d;
    if (m->pair.distance > r->distance_most)
        r->distance_most = m->pair.distance;
}

// ---- workers -------------------------------------------------------------------------------------------

static void stop_workers(struct injection *all) // with the mutex held
{
    rb_store_relaxed(&all->stop, 1);
    for (unsigned i = 0; i < all->options->jobs; i++)
        rb_solver_interrupt(&all->solvers[i]);
}

static void *work_on_traces(void *argument)
{
    struct worker *w = argument;
    struct injection *all = w->all;
    struct made *m = malloc(sizeof(*m));

    pthread_mutex_lock(&all->mutex);
    while (m && !rb_spread_stopped(&all->options->plan) && all->next < all->options->traces) {
        const uint64_t number = all->next++;
        struct rb_error e = {0};
        pthread_mutex_unlock(&all->mutex);
        const int status = make_trace(w, number, m, &e);
        json_t *label = status == 0 ? trace_label(all, number, m) : NULL;
        json_t *negatives = status == 0 ? negative_labels(m) : NULL;
        pthread_mutex_lock(&all->mutex);
        if (status == 0) {
            count_trace(all, m);
            all->waiting++;
            if (!rb_labels_add(&all->labels, label, negatives))
                all->status = rb_internal(all->error, "out of memory for labels");
        } else if (all->status == 0) {
            *all->error = e;
            all->status = status;
        }
        if (all->status < 0)
            stop_workers(all);
        pthread_cond_signal(&all->changed);
    }
    if (!m && all->status == 0)
        all->status = rb_internal(all->error, "out of memory for a worker");
    all->working--;
    pthread_cond_signal(&all->changed);
    pthread_mutex_unlock(&all->mutex);
    free(m);
    return NULL;
}

static bool prepare_worker(struct worker *w, struct injection *all, unsigned number)
{
    *w = (struct worker){.all = all, .solver = &all->solvers[number]};
    w->trace = malloc((all->events.count + 2) * sizeof(*w->trace));
    const bool spread = rb_spread_alloc(&w->spread, &all->model, w->solver);
    return rb_reach_alloc(&w->reach, &all->model) && spread && w->trace;
}

static void free_worker(struct worker *w)
{
    rb_spread_free(&w->spread);
    rb_reach_free(&w->reach);
    free(w->trace);
}

// Runs in the main thread: writes labels as traces come in, and checks the time limit and the interrupt.
static void attend_workers(struct injection *all, double began)
{
    const struct rb_inject_options *o = all->options;
    double written = seconds_now();

    while (all->working > 0) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 100 * 1000 * 1000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&all->changed, &all->mutex, &until);
        if (o->progress)
            o->progress(o->context, all->result->made, o->traces, all->result->distance_most);
        if (!rb_spread_stopped(&all->options->plan) && o->time_limit > 0 &&
            seconds_now() - began >= o->time_limit) {
            all->result->out_of_time = true;
            stop_workers(all);
        }
        if (!rb_spread_stopped(&all->options->plan) && rb_load_relaxed(o->interrupted)) {
            all->result->was_interrupted = true;
            stop_workers(all);
        }
        if (all->waiting && seconds_now() - written >= LABELS_EVERY && all->status == 0) {
            all->status = rb_labels_write(&all->labels, all->error);
            all->waiting = 0;
            written = seconds_now();
            if (all->status < 0)
                stop_workers(all);
        }
    }
}

static int run_workers(struct injection *all, double began)
{
    const unsigned jobs = all->options->jobs;
    struct worker *workers = calloc(jobs, sizeof(*workers));
    pthread_t *threads = calloc(jobs, sizeof(*threads));
    unsigned started = 0, prepared = 0;

    while (workers && threads && prepared < jobs && prepare_worker(&workers[prepared], all, prepared))
        prepared++;
    pthread_mutex_lock(&all->mutex);
    while (workers && threads && started < prepared &&
           pthread_create(&threads[started], NULL, work_on_traces, &workers[started]) == 0) {
        started++;
        all->working++;
    }
    if (started == 0)
        all->status = rb_internal(all->error, "no memory for a worker");
    attend_workers(all, began);
    pthread_mutex_unlock(&all->mutex);
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < jobs && workers && i <= prepared; i++)
        free_worker(&workers[i]);
    free(workers);
    free(threads);
    return all->status;
}

// ---- the run -------------------------------------------------------------------------------------------

// Draws every point once, in random order, then all again.
static int draw_points(struct injection *all, struct rb_error *e)
{
    const struct rb_model *m = &all->model;
    const uint64_t wanted = all->options->traces;
    struct rb_rng rng;

    if (m->point_count == 0)
        return rb_bad_input(
            e, "%s: the running thread never changes; injection needs a trace of at least two threads",
            all->options->base);
    all->points = malloc((wanted + 1) * sizeof(*all->points));
    if (!all->points)
        return rb_internal(e, "out of memory for %" PRIu64 " points", wanted);
    rb_rng_seed(&rng, rb_mix64(all->options->seed ^ 0x706f696e7473u));
    for (uint64_t i = 0; i < wanted; i++) {
        const uint32_t k = (uint32_t)(i % m->point_count);
        const uint32_t other = k + (uint32_t)rb_rng_below(&rng, m->point_count - k), point = m->points[other];
        m->points[other] = m->points[k];
        m->points[k] = point;
        all->points[i] = point;
    }
    return 0;
}

static int make_folder(const char *dir, struct rb_error *e)
{
    struct stat st;

    if (mkdir(dir, 0777) == 0 || (errno == EEXIST && stat(dir, &st) == 0 && S_ISDIR(st.st_mode)))
        return 0;
    return rb_bad_input(e, "-o %s: cannot make the folder: %s", dir, strerror(errno));
}

static int run_injection(struct injection *all, struct rb_reader *base, double began, struct rb_error *e)
{
    const struct rb_inject_options *o = all->options;
    struct rb_inject_result *r = all->result;
    int status = rb_z3_load(e);

    if (status == 0)
        status = rb_reader_load_names(base, e);
    if (status == 0)
        status = rb_events_load(base, &all->events, e);
    if (status == 0)
        status = rb_model_make(&all->model, &all->events, e);
    if (status == 0)
        status = draw_points(all, e);
    if (status == 0)
        status = rb_output_prepare(&all->output, base, o->text, e);
    if (status == 0)
        status = make_folder(o->dir, e);
    if (status == 0)
        status = rb_labels_open(&all->labels, o->dir, o->base, o->seed, e);
    if (status < 0)
        return status;
    r->events = all->events.count;
    r->threads = base->header.threads_run;
    r->points = all->model.point_count;
    status = run_workers(all, began);
    r->out_of_time &= r->made < o->traces; // the last ones may have been finished all the same
    // Also after a failure: the files written so far are complete and get their labels.
    struct rb_error also = {0};
    const int labelled = rb_labels_write(&all->labels, status < 0 ? &also : e);
    rb_labels_close(&all->labels);
    return status < 0 ? status : labelled;
}

int rb_inject(struct rb_reader *base, const struct rb_inject_options *options,
              struct rb_inject_result *result, struct rb_error *e)
{
    struct rb_inject_options own = *options;
    struct injection all = {.options = &own, .result = result, .base = base, .error = e};
    const double began = seconds_now();
    int status;

    *result = (struct rb_inject_result){0};
    own.plan.stop = &all.stop;
    pthread_mutex_init(&all.mutex, NULL);
    pthread_cond_init(&all.changed, NULL);
    all.solvers = calloc(own.jobs, sizeof(*all.solvers));
    for (unsigned i = 0; all.solvers && i < own.jobs; i++)
        rb_solver_init(&all.solvers[i]);
    status = all.solvers ? run_injection(&all, base, began, e) : rb_internal(e, "out of memory for workers");
    result->seconds = seconds_now() - began;
    for (unsigned i = 0; all.solvers && i < own.jobs; i++)
        rb_solver_destroy(&all.solvers[i]);
    free(all.solvers);
    free(all.points);
    rb_output_free(&all.output);
    rb_model_free(&all.model);
    rb_events_free(&all.events);
    pthread_cond_destroy(&all.changed);
    pthread_mutex_destroy(&all.mutex);
    return status;
}
