// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// railbird compare: traces through every engine and every sampler, as tables, JSON or a page.
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cli.h"
#include "cmd/option_table.h"
#include "lab/compare/compare.h"
#include "report/page.h"

#define NAME "compare"

#define DEFAULT_ENGINES  "fasttrack,st,su,so"
#define DEFAULT_SAMPLERS "all,random:0.03,random:0.003,literace,pacer:0.03,rpt:0.01,0.1"
#define DEFAULT_RUNS     3

struct options {
    struct rb_compare_plan plan;
    char **traces;
    size_t trace_count;
    const char *html;
    bool json;
};

static void print_help(void)
{
    fputs("usage: railbird compare TRACE... [--engines E,...] [--samplers S,...] [--runs N] [--seed N]\n"
          "                        [--lenient] [--json] [--html FILE]\n"
          "\n"
          "Runs each trace (.rbt, or RAPID's STD text) through every engine with every sampler and prints a "
          "table:\n"
          "what was found, what share of the races that fasttrack finds on all accesses, and what it cost.\n"
          "Exit status 66 if there is a race.\n"
          "\n"
          "  --engines E,...   default " DEFAULT_ENGINES "; known:",
          stdout);
    for (int i = 0; rb_lab_engines[i]; i++)
        printf(" %s", rb_lab_engines[i]->name);
    fputs("\n  --samplers S,...  default " DEFAULT_SAMPLERS ";\n                    known:", stdout);
    for (int i = 0; rb_samplers[i] && !rb_samplers[i]->online; i++)
        printf("%s %s%s", i == 7 ? "\n                   " : "", rb_samplers[i]->name,
               rb_samplers[i]->parameters);
    printf("\n  --runs N          runs of each, every one with a seed of its own (default %d)\n"
           "  --seed N          the first seed; the next runs take N+1, N+2, ... (default 1)\n"
           "  --lenient         takes traces that release locks nobody holds, and says how many\n"
           "  --json            one JSON object on standard output\n"
           "  --html FILE       also a page with tables and plots, in one file\n",
           DEFAULT_RUNS);
}

// ---- lists ---------------------------------------------------------------------------------------------

// Returns -1 to go on, else an exit status.
static int parse_lists(const char *engines, const char *samplers, struct rb_compare_plan *plan)
{
    int status = cli_engine_list(NAME, engines, &plan->engines, &plan->engine_count);

    if (status < 0)
        status = cli_sampler_list(NAME, samplers, &plan->samplers, &plan->sampler_count);
    if (status < 0 && !(plan->engine_count && plan->sampler_count))
        status = cli_usage(NAME, "%s: the list is empty", plan->engine_count ? "--samplers" : "--engines");
    return status;
}

// Rejects predictive engines with samplers of windows, if the user asked for both. Default samplers of
// windows are left out for such engines. Returns -1 to go on, else an exit status.
static int check_pairs(const struct rb_compare_plan *plan)
{
    for (size_t i = 0; i < plan->engine_count; i++)
        for (size_t s = 0; s < plan->sampler_count; s++)
            if (plan->engines[i]->predict && plan->samplers[s].ops->windows)
                return cli_usage(
                    NAME, "engine %s needs the whole trace: it cannot run in the windows of sampler %s",
                    plan->engines[i]->name, plan->samplers[s].text);
    return -1;
}

// Returns -1 to go on, else an exit status.
static int parse_options(int argc, char **argv, struct options *o)
{
    static const struct cli_parser parser = {.command = NAME, .print_help = print_help};
    const char *engines = DEFAULT_ENGINES, *samplers = DEFAULT_SAMPLERS;
    struct rb_compare_plan *plan = &o->plan;
    const struct cli_option table[] = {
        {"engines", .text = &engines},
        {"samplers", .text = &samplers},
        {"runs", .whole32 = &plan->runs, .low = 1, .high = RB_COMPARE_RUNS},
        {"seed", .whole = &plan->seed, .high = INT64_MAX},
        {"lenient", .flag = &plan->lenient},
        {"json", .flag = &o->json},
        {"html", .text = &o->html},
        {0},
    };
    int status;

    *o = (struct options){.plan = {.seed = 1, .runs = DEFAULT_RUNS}};
    status = cli_parse_options(&parser, table, argc, argv);
    if (status >= 0)
        return status;
    o->traces = argv + optind;
    o->trace_count = (size_t)(argc - optind);
    status = parse_lists(engines, samplers, plan);
    if (status < 0 && strcmp(samplers, DEFAULT_SAMPLERS) != 0)
        status = check_pairs(plan);
    if (status >= 0)
        return status;
    return o->trace_count ? -1 : cli_usage(NAME, "which trace?");
}

// ---- runs ----------------------------------------------------------------------------------------------

// Prints the notes that a reader of the numbers needs, once for each trace.
static void say_notes(const struct rb_comparison *c)
{
    const char *before = NULL;

    for (size_t i = 0; i < c->row_count; i = rb_compare_group_end(c, i)) {
        if (!c->rows[i].by_location)
            continue;
        if (!before)
            fprintf(stderr, "railbird " NAME ": %s: no function events; code locations are the regions of",
                    c->trace);
        fprintf(stderr, "%s %s", before ? "," : "", c->rows[i].sampler.text);
        before = c->rows[i].sampler.text;
    }
    if (before)
        fputc('\n', stderr);
    if (c->lenient_releases || c->lenient_acquires)
        fprintf(stderr,
                "railbird " NAME ": %s: %" PRIu64 " releases without a matching acquire taken as plain "
                "releases, %" PRIu64 " acquires of locks held elsewhere\n",
                c->trace, c->lenient_releases, c->lenient_acquires);
}

static int compare_trace(const struct options *o, size_t index, struct rb_comparison *c, struct rb_error *e)
{
    struct rb_compare_plan plan = o->plan;
    struct cli_progress progress;
    struct rb_reader reader;
    char label[256];
    int status;

    *c = (struct rb_comparison){0};
    status = cli_open_trace(NAME, o->traces[index], plan.lenient, &reader, e);
    if (status < 0)
        return status;
    snprintf(label, sizeof(label), "%.200s (%zu of %zu)", o->traces[index], index + 1, o->trace_count);
    cli_progress_start(&progress, label);
    plan.progress = cli_progress_step;
    plan.progress_context = &progress;
    status = rb_compare(&reader, &plan, c, e);
    cli_progress_end(&progress);
    rb_reader_close(&reader);
    if (status == 0)
        say_notes(c);
    return status;
}

struct page {
    const struct options *o;
    const struct rb_comparison *results;
};

static void fill_page(FILE *out, void *context)
{
    const struct page *p = context;

    rb_compare_html(out, p->results, p->o->trace_count, &p->o->plan);
}

static int compare_all(const struct options *o, struct rb_comparison *results, struct rb_error *e)
{
    bool raced = false;
    int status = o->html ? rb_html_check("--html", o->html, e) : 0;

    for (size_t i = 0; i < o->trace_count && status == 0; i++) // check all names before the first run
        if (access(o->traces[i], R_OK) < 0)
            status = rb_bad_input(e, "%s: cannot open: %m", o->traces[i]);
    for (size_t i = 0; i < o->trace_count && status == 0; i++) {
        status = compare_trace(o, i, &results[i], e);
        if (status < 0)
            break;
        raced |= results[i].raced;
        if (!o->json) {
            if (i)
                putchar('\n');
            rb_compare_text(stdout, &results[i]);
            if (fflush(stdout) == EOF)
                status = rb_internal(e, "cannot write the table: %m");
        }
    }
    if (status == 0 && o->html)
        status = rb_html_write("--html", o->html, fill_page, &(struct page){o, results}, e);
    if (status == 0 && o->json)
        status = cli_print_json(rb_compare_json(results, o->trace_count, &o->plan), e);
    return status < 0 ? status : raced ? RB_EXIT_RACE : RB_EXIT_OK;
}

int cmd_compare(int argc, char **argv)
{
    struct rb_comparison *results = NULL;
    struct rb_error e = {0};
    struct options o;
    int status = parse_options(argc, argv, &o);

    if (status < 0) {
        results = calloc(o.trace_count, sizeof(*results));
        status = results ? compare_all(&o, results, &e) : rb_internal(&e, "out of memory");
        if (status < 0)
            status = cli_fail(NAME, &e);
        for (size_t i = 0; results && i < o.trace_count; i++)
            rb_comparison_free(&results[i]);
    }
    free(results);
    free(o.plan.engines);
    free(o.plan.samplers);
    return status;
}
