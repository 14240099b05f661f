// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// railbird analyze: one engine, one sampler, one trace.
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "cmd/cli.h"
#include "cmd/option_table.h"
#include "lab/replay/replay.h"

static const char help_text[] =
    "usage: railbird analyze TRACE [--engine E] [--sampler S] [--seed N] [--races FILE] [--lenient] "
    "[--json]\n"
    "\n"
    "Runs a trace (.rbt, or RAPID's STD text) through one engine, looking at the accesses that one sampler\n"
    "takes, and prints what was found and what it cost. Exit status 66 if there is a race.\n"
    "\n"
    "  --engine E     so (default)";

struct options {
    const char *trace, *races;
    struct rb_replay_options replay;
    bool json;
};

static void print_help(void)
{
    fputs(help_text, stdout);
    for (int i = 0; rb_lab_engines[i]; i++)
        printf("\n                   %-10s %s", rb_lab_engines[i]->name, rb_lab_engines[i]->help);
    fputs("\n  --sampler S    all (default)", stdout);
    for (int i = 0; rb_samplers[i] && !rb_samplers[i]->online; i++)
        printf("\n                   %s%-*s %s", rb_samplers[i]->name,
               (int)(20 - strlen(rb_samplers[i]->name)), rb_samplers[i]->parameters, rb_samplers[i]->help);
    fputs("\n  --seed N       of the sampler (default 1)\n"
          "  --races FILE   one CSV line a warning: index1,index2,variable,thread1,thread2,op1,op2,\n"
          "                 location1,location2; '-' is standard output, the summary then goes to\n"
          "                 standard error\n"
          "  --lenient      takes traces that release locks nobody holds, and says how many\n"
          "  --json         one JSON object on standard output\n",
          stdout);
}

static int take_engine(void *context, const char *value)
{
    const struct rb_engine_ops **engine = context;

    *engine = rb_lab_engine_find(value);
    return *engine ? -1 : cli_unknown_engine("analyze", value);
}

// Returns -1 to go on, else an exit status.
static int parse_options(int argc, char **argv, struct options *o)
{
    static const struct cli_parser parser = {.command = "analyze", .print_help = print_help};
    const char *sampler = "all";
    const struct cli_option table[] = {
        {"engine", .take = take_engine, .context = &o->replay.engine},
        {"sampler", .text = &sampler},
        {"seed", .whole = &o->replay.seed, .high = INT64_MAX},
        {"races", .text = &o->races},
        {"lenient", .flag = &o->replay.lenient},
        {"json", .flag = &o->json},
        {0},
    };
    struct rb_error e = {0};
    int status;

    *o = (struct options){.replay = {.engine = &rb_so, .seed = 1}};
    status = cli_parse_options(&parser, table, argc, argv);
    if (status >= 0)
        return status;
    if (rb_sampler_parse_offline(sampler, &o->replay.sampler, &e) < 0)
        return cli_usage("analyze", "--sampler: %s", e.text);
    if (o->replay.engine->predict && o->replay.sampler.ops->windows)
        return cli_usage("analyze",
                         "--engine %s needs the whole trace: it cannot run in the windows of --sampler %s",
                         o->replay.engine->name, o->replay.sampler.text);
    if (o->json && o->races && !strcmp(o->races, "-"))
        return cli_usage("analyze", "--races - and --json cannot share standard output");
    if (optind + 1 != argc)
        return cli_usage("analyze", optind == argc ? "which trace?" : "one trace, please; found '%s' too",
                         optind == argc ? "" : argv[optind + 1]);
    o->trace = argv[optind];
    return -1;
}

static json_t *result_json(const struct options *o, const struct rb_reader *r, const struct rb_result *x)
{
    const double esr = x->accesses ? (double)x->sampled / (double)x->accesses : 0;
    // NULL only if out of memory
    return json_pack(
        "{s:o, s:I, s:I, s:I, s:I, s:s, s:s, s:I, s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
        "s:I, s:I, s:I, s:f, s:f, s:I, s:I, s:I}",
        "trace", cli_json_path(o->trace), "events", (json_int_t)r->header.events, "threads",
        (json_int_t)r->header.threads_run, "locks", (json_int_t)rb_reader_count(r, RBT_LOCKS), "variables",
        (json_int_t)rb_reader_count(r, RBT_VARIABLES), "engine", o->replay.engine->name, "sampler",
        o->replay.sampler.text, "seed", (json_int_t)o->replay.seed, "accesses", (json_int_t)x->accesses,
        "sampled", (json_int_t)x->sampled, "esr", esr, "events_read", (json_int_t)x->events_read, "acquires",
        (json_int_t)x->acquires, "acquires_skipped", (json_int_t)x->acquires_skipped, "releases",
        (json_int_t)x->releases, "releases_processed", (json_int_t)x->releases_processed, "deep_copies",
        (json_int_t)x->deep_copies, "entries_traversed", (json_int_t)x->entries_traversed, "entries_total",
        (json_int_t)x->entries_total, "warnings", (json_int_t)x->warnings, "racy_variables",
        (json_int_t)x->racy_variables.count, "static_races", (json_int_t)x->static_races.count, "seconds",
        x->seconds, "cpu_seconds", x->cpu_seconds, "bytes_read", (json_int_t)x->bytes_read,
        "lenient_releases", (json_int_t)x->lenient_releases, "lenient_acquires",
        (json_int_t)x->lenient_acquires);
}

static double compute_percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void print_result(FILE *out, const struct options *o, const struct rb_reader *r,
                         const struct rb_result *x)
{
    const double rate = x->seconds > 0 ? (double)x->events_read / x->seconds / 1e6 : 0;

    fprintf(out,
            "trace      %s: %" PRIu64 " events, %" PRIu64 " threads, %" PRIu64 " locks, %" PRIu64
            " variables\n",
            o->trace, r->header.events, r->header.threads_run, rb_reader_count(r, RBT_LOCKS),
            rb_reader_count(r, RBT_VARIABLES));
    fprintf(out, "analysis   engine %s, sampler %s, seed %" PRIu64 "\n", o->replay.engine->name,
            o->replay.sampler.text, o->replay.seed);
    fprintf(out, "sampled    %" PRIu64 " of %" PRIu64 " accesses (effective rate %.4f %%)\n", x->sampled,
            x->accesses, compute_percent(x->sampled, x->accesses));
    if (x->windows)
        fprintf(out, "windows    %" PRIu64 ", %" PRIu64 " of %" PRIu64 " events read\n", x->windows,
                x->events_read, r->header.events);
    fprintf(out,
            "acquires   %" PRIu64 ", %.1f %% skipped; %" PRIu64 " of %" PRIu64 " clock entries looked at\n",
            x->acquires, compute_percent(x->acquires_skipped, x->acquires), x->entries_traversed,
            x->entries_total);
    fprintf(out, "releases   %" PRIu64 ", %" PRIu64 " processed; %" PRIu64 " deep copies\n", x->releases,
            x->releases_processed, x->deep_copies);
    fprintf(out, "races      %" PRIu64 " warnings, %" PRIu64 " racy variables, %" PRIu64 " static races\n",
            x->warnings, x->racy_variables.count, x->static_races.count);
    fprintf(out, "time       %.3f s (%.1f million events a second)\n", x->seconds, rate);
}

// Returns -1 with errno if the file is not written completely. Standard output stays open.
static int close_races(FILE *races)
{
    bool failed = fflush(races) == EOF;

    failed |= ferror(races) != 0;
    if (races != stdout && failed)
        fclose(races); // errno is still the one of the write
    else if (races != stdout)
        failed = fclose(races) == EOF;
    return failed ? -1 : 0;
}

#define MUCH_MEMORY ((uint64_t)1 << 30)

// Announces the use of much memory before it is allocated: a trace with many threads is small.
static void say_memory(const struct options *o, const struct rb_reader *r)
{
    const uint64_t bytes = rb_replay_clock_bytes(r);
    struct rb_error note = {0}; // for its one line without control characters

    if (bytes <= MUCH_MEMORY)
        return;
    rb_bad_input(&note, "%s: the clocks of %" PRIu64 " threads need up to %" PRIu64 " MiB", o->trace,
                 rb_reader_count(r, RBT_THREADS), bytes >> 20);
    fprintf(stderr, "railbird analyze: %s\n", note.text);
}

static int run_analysis(const struct options *o, struct rb_reader *r, struct rb_error *e)
{
    struct rb_replay_options replay = o->replay;
    struct cli_progress progress;
    struct rb_result result;
    FILE *races = NULL;
    int status;

    if (o->races) {
        if (cli_same_file(o->races, o->trace))
            return rb_bad_input(e, "--races %s: that is the trace itself", o->races);
        races = strcmp(o->races, "-") ? fopen(o->races, "we") : stdout;
        if (!races)
            return rb_bad_input(e, "--races %s: cannot write: %m", o->races);
    }
    replay.races = races;
    say_memory(o, r);
    cli_progress_start(&progress, o->trace);
    replay.progress = cli_progress_step;
    replay.progress_context = &progress;
    status = rb_replay(r, &replay, &result, e);
    cli_progress_end(&progress);
    if (races && close_races(races) < 0 && status == 0)
        status = rb_internal(e, "--races %s: cannot write: %m", o->races);
    if (status == 0) {
        if (result.regions_are_locations)
            fprintf(stderr,
                    "railbird analyze: %s: no function events; sampler %s takes code locations as its "
                    "regions\n",
                    o->trace, o->replay.sampler.text);
        if (result.lenient_releases || result.lenient_acquires)
            fprintf(stderr,
                    "railbird analyze: %s: %" PRIu64 " releases without a matching acquire taken as "
                    "plain releases, %" PRIu64 " acquires of locks held elsewhere\n",
                    o->trace, result.lenient_releases, result.lenient_acquires);
        if (result.starved)
            fprintf(stderr,
                    "railbird analyze: %s: %" PRIu64 " accesses not recorded because memory was out\n",
                    o->trace, result.starved);
        if (o->json)
            status = cli_print_json(result_json(o, r, &result), e);
        else
            print_result(races == stdout ? stderr : stdout, o, r, &result);
        if (status == 0 && (fflush(stdout) == EOF || ferror(stdout)))
            status = rb_internal(e, "cannot write on standard output: %m");
    }
    if (status == 0 && result.warnings)
        status = RB_EXIT_RACE;
    rb_result_free(&result);
    return status;
}

int cmd_analyze(int argc, char **argv)
{
    struct rb_error e = {0};
    struct rb_reader reader;
    struct options o;
    int status = parse_options(argc, argv, &o);

    if (status >= 0)
        return status;
    if (cli_open_trace("analyze", o.trace, o.replay.lenient, &reader, &e) < 0)
        return cli_fail("analyze", &e);
    status = run_analysis(&o, &reader, &e);
    rb_reader_close(&reader);
    return status < 0 ? cli_fail("analyze", &e) : status;
}
