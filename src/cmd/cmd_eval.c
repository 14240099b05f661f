// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// railbird eval: the share of the races of labelled traces that each detector finds, as a table, JSON, CSV
// or a page; and the shrunk traces whose races the engines miss.
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cli.h"
#include "cmd/option_table.h"
#include "lab/eval/eval.h"
#include "lab/eval/eval_counter.h"
#include "lab/inject/verify.h"
#include "report/page.h"

#define NAME "eval"

#define DEFAULT_ENGINES  "so,shb,wcp,syncp"
#define DEFAULT_SAMPLERS "random:0.03,random:0.1,random:0.3,pacer:0.1,64,literace,rpt:0.5,0.5"
#define DEFAULT_RUNS     10
#define DEFAULT_SHRINK   5
#define MOST_SHRINK      86400

struct options {
    struct rb_eval_plan plan;
    struct rb_eval_counter_plan counter; // its dir: NULL for none
    const char *dir, *html, *csv;
    bool json;
};

static void print_help(void)
{
    fputs("usage: railbird eval DIR [--engines E,...] [--samplers S,...] [--runs N] [--seed N] [--jobs N]\n"
          "                     [--json] [--csv FILE] [--html FILE]\n"
          "                     [--counterexamples DIR2] [--limit N] [--shrink-seconds S]\n"
          "\n"
          "Runs the labelled traces of DIR (DIR/labels.json, as railbird inject writes it) through every "
          "engine on all\n"
          "accesses, and through engine so with every sampler, and prints for each program what share of the "
          "races was\n"
          "found. The exit status is 0 when that is done, races or not (never 66: this is a measurement); 2 "
          "if labels.json\n"
          "or a trace it names is missing, or a trace is not what its label says.\n"
          "\n"
          "  --engines E,...       default " DEFAULT_ENGINES "; known:",
          stdout);
    for (int i = 0; rb_lab_engines[i]; i++)
        printf(" %s", rb_lab_engines[i]->name);
    fputs("\n  --samplers S,...      default " DEFAULT_SAMPLERS ";\n                        known:", stdout);
    for (int i = 0; rb_samplers[i] && !rb_samplers[i]->online; i++)
        printf("%s %s%s", i == 7 ? "\n                       " : "", rb_samplers[i]->name,
               rb_samplers[i]->parameters);
    printf("\n                        an empty list, '': none\n"
           "  --runs N              runs of each sampler, every one with a seed of its own (default %d)\n"
           "  --seed N              the first seed: run i of trace k has seed N + k * runs + i (default 1)\n"
           "  --jobs N              traces at a time (default: one for each processor)\n"
           "  --json                one JSON object on standard output\n"
           "  --csv FILE            also a line for each trace and detector\n"
           "  --html FILE           also a page with plots and tables, in one file\n"
           "  --counterexamples DIR2\n"
           "                        also the traces that each engine misses, made as small as they go: "
           "DIR2/ENGINE/\n"
           "                        NAME.rbt, NAME.std, NAME.base.rbt, and DIR2/index.json\n"
           "  --limit N             at most N counterexamples for each engine, those with the smallest "
           "distance\n"
           "                        (default: all)\n"
           "  --shrink-seconds S    time to make one trace small (default %d)\n",
           DEFAULT_RUNS, DEFAULT_SHRINK);
}

static int parse_lists(const char *engines, const char *samplers, struct rb_eval_plan *plan)
{
    int status = cli_engine_list(NAME, engines, &plan->engines, &plan->engine_count);

    if (status < 0)
        status = cli_sampler_list(NAME, samplers, &plan->samplers, &plan->sampler_count);
    if (status < 0 && !plan->engine_count && !plan->sampler_count)
        status = cli_usage(NAME, "--engines, --samplers: both are empty; expected something to evaluate");
    return status;
}

// ---- options -------------------------------------------------------------------------------------------

static int take_seconds(void *context, const char *text)
{
    double *value = context;
    char *end;

    *value = strtod(text, &end);
    if (end == text || *end || !(*value >= 0 && *value <= MOST_SHRINK))
        return cli_usage(NAME, "--shrink-seconds %s: expected a number of seconds from 0 to %d", text,
                         MOST_SHRINK);
    return -1;
}

static uint32_t count_processors(void)
{
    const long n = sysconf(_SC_NPROCESSORS_ONLN);

    return n < 1 ? 1 : n > (long)RB_EVAL_JOBS ? RB_EVAL_JOBS : (uint32_t)n;
}

// Returns -1 to go on, else an exit status.
static int parse_options(int argc, char **argv, struct options *o)
{
    static const struct cli_parser parser = {.command = NAME, .print_help = print_help};
    const char *engines = DEFAULT_ENGINES, *samplers = DEFAULT_SAMPLERS;
    struct rb_eval_plan *plan = &o->plan;
    const struct cli_option table[] = {
        {"engines", .text = &engines},
        {"samplers", .text = &samplers},
        {"runs", .whole32 = &plan->runs, .low = 1, .high = RB_EVAL_RUNS},
        {"seed", .whole = &plan->seed, .high = INT64_MAX},
        {"jobs", .whole32 = &plan->jobs, .low = 1, .high = RB_EVAL_JOBS},
        {"json", .flag = &o->json},
        {"csv", .text = &o->csv},
        {"html", .text = &o->html},
        {"counterexamples", .text = &o->counter.dir},
        {"limit", .whole32 = &o->counter.limit, .low = 1, .high = UINT32_MAX},
        {"shrink-seconds", .take = take_seconds, .context = &o->counter.seconds},
        {0},
    };
    int status;

    *o = (struct options){.plan = {.seed = 1, .runs = DEFAULT_RUNS, .jobs = count_processors()},
                          .counter.seconds = DEFAULT_SHRINK};
    status = cli_parse_options(&parser, table, argc, argv);
    if (status >= 0)
        return status;
    if (optind >= argc)
        return cli_usage(NAME, "which folder? Expected one with labels.json");
    if (optind + 1 < argc)
        return cli_usage(NAME, "%s: one folder at a time", argv[optind + 1]);
    o->dir = argv[optind];
    return parse_lists(engines, samplers, plan);
}

// ---- runs ----------------------------------------------------------------------------------------------

static int open_trace(const char *path, struct rb_reader *r, struct rb_error *e)
{
    return cli_open_trace(NAME, path, false, r, e);
}

static int verify_trace(const struct rb_events *base, const struct rb_events *injected, struct rb_error *e)
{
    const struct rb_verify_world world = {.threads = injected->table[RBT_THREADS],
                                          .locks = injected->table[RBT_LOCKS],
                                          .variables = injected->table[RBT_VARIABLES],
                                          .base_path = "base",
                                          .other_path = "trace"};
    struct rb_verify_pair pair;

    return rb_verify_injected(&world, base->at, base->count, injected->at, injected->count,
                              base->table[RBT_VARIABLES], &pair, e);
}

static void fill_html(FILE *out, void *context)
{
    rb_eval_html(out, context);
}

static void fill_csv(FILE *out, void *context)
{
    rb_eval_csv(out, context);
}

static int shrink_traces(struct options *o, const struct rb_eval *v, struct rb_eval_counters *counters,
                         struct rb_error *e)
{
    struct cli_progress progress;

    cli_progress_start(&progress, "counterexamples");
    o->counter.jobs = o->plan.jobs;
    o->counter.open = open_trace;
    o->counter.verify = verify_trace;
    o->counter.progress = cli_progress_step;
    o->counter.progress_context = &progress;
    const int status = rb_eval_counterexamples(counters, v, &o->counter, e);
    cli_progress_end(&progress);
    return status;
}

static int print_result(const struct options *o, const struct rb_eval *v,
                        const struct rb_eval_counters *counters, struct rb_error *e)
{
    if (o->json) {
        json_t *object = rb_eval_json(v);
        if (object && o->counter.dir &&
            json_object_set_new(object, "counterexamples", rb_eval_counters_json(v, counters)) < 0) {
            json_decref(object);
            object = NULL;
        }
        return cli_print_json(object, e);
    }
    rb_eval_text(stdout, v);
    if (o->counter.dir)
        rb_eval_counters_text(stdout, v, counters);
    return fflush(stdout) == EOF ? rb_internal(e, "cannot write the table: %m") : 0;
}

static int run_evaluation(struct options *o, const struct rb_eval_labels *labels, struct rb_error *e)
{
    struct rb_eval_counters counters = {0};
    struct cli_progress progress;
    uint64_t violations = 0;
    struct rb_eval v;

    cli_progress_start(&progress, "traces");
    o->plan.open = open_trace;
    o->plan.progress = cli_progress_step;
    o->plan.progress_context = &progress;
    int status = rb_eval_run(&v, labels, &o->plan, e);
    cli_progress_end(&progress);
    if (status == 0 && o->counter.dir)
        status = shrink_traces(o, &v, &counters, e);
    if (status == 0)
        status = print_result(o, &v, &counters, e);
    if (status == 0 && o->csv)
        status = rb_html_write("--csv", o->csv, fill_csv, &v, e);
    if (status == 0 && o->html)
        status = rb_html_write("--html", o->html, fill_html, &v, e);
    for (size_t i = 0; status == 0 && i < RB_EVAL_RULES; i++)
        violations += v.rules[i].violations;
    if (violations)
        fprintf(stderr,
                "railbird " NAME ": engines contradict what must hold of them %" PRIu64
                " times: a mistake in one of them\n",
                violations);
    rb_eval_counters_free(&counters);
    rb_eval_free(&v);
    return status;
}

int cmd_eval(int argc, char **argv)
{
    struct rb_eval_labels labels = {0};
    struct rb_error e = {0};
    struct options o;
    int status = parse_options(argc, argv, &o);

    if (status < 0) {
        status = o.html ? rb_html_check("--html", o.html, &e) : 0;
        if (status == 0 && o.csv)
            status = rb_html_check("--csv", o.csv, &e);
        if (status == 0)
            status = rb_eval_labels_load(&labels, o.dir, &e);
        for (size_t i = 0; i < labels.count && status == 0; i++) // check all files before the first run
            if (access(labels.traces[i].path, R_OK) < 0)
                status = rb_bad_input(&e, "%s: cannot open: %m; labels.json names it", labels.traces[i].path);
        if (status == 0)
            status = run_evaluation(&o, &labels, &e);
        status = status < 0 ? cli_fail(NAME, &e) : RB_EXIT_OK;
        rb_eval_labels_free(&labels);
    }
    free(o.plan.engines);
    free(o.plan.samplers);
    return status;
}
