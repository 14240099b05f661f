// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// railbird report: reads reports of any number of runs, adds names to addresses, merges, and writes them in
// one of four formats. With --live it is the runtime's own symbolizer (report/live/live.h).
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cli.h"
#include "cmd/option_table.h"
#include "report/live/live.h"
#include "report/page.h"
#include "report/race_record.h"
#include "report/report.h"
#include "report/suppress.h"
#include "report/symbols/symbols.h"

#ifndef RB_VERSION
#define RB_VERSION "unknown"
#endif

static const char help_text[] =
    "usage: railbird report FILE... [--format F] [-o OUT] [--baseline FILE] [--suppressions FILE]...\n"
    "                       [--debug-path DIR] [--partial list|report] [--json] [--verbose]\n"
    "\n"
    "Reads reports (a JSON object a line, as report=json:FILE makes them; '-' is standard input), puts "
    "names\n"
    "to addresses, and merges those of the same race. Exit status 66 if there is a race that is neither\n"
    "suppressed nor in the baseline nor a mere candidate of 'railbird watch', nor known by partial evidence.\n"
    "\n"
    "  --format F            text (default), json (an object a line), sarif (2.1.0), html (one page)\n"
    "  -o OUT                there instead of standard output\n"
    "  --baseline FILE       races that are known: the output of --format json of an earlier run\n"
    "  --suppressions FILE   races that are not to be reported, in ThreadSanitizer's syntax; may be "
    "repeated\n"
    "  --debug-path DIR      looks for separate debug files there too (DIR/.build-id/xx/yyyy.debug)\n"
    "  --partial WORD        races with frames in libraries without hooks: list (default), or report: for 66 "
    "too\n"
    "  --json                one JSON object on standard output: counts, and the races as a list\n"
    "  --verbose             text: build-ids, long names of functions in full, every race of a cause\n";

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_SARIF, FORMAT_HTML };
static const char *const format_names[] = {"text", "json", "sarif", "html"};

struct options {
    char **files;
    size_t file_count;
    const char **suppressions; // for free()
    size_t suppression_count;
    const char *out, *baseline, *format_name, *partial;
    char *debug_path; // absolute, for free()
    const char *live_text, *live_json;
    enum format format;
    uint64_t max_reports;
    int ring; // the program's pid; 0: records come on standard input
    bool json, live, verbose;
};

// ---- options -------------------------------------------------------------------------------------------

static int check_live(const struct options *o)
{
    if (o->out || o->baseline || o->json || o->format_name || o->debug_path || o->partial || o->file_count)
        return cli_usage("report", "--live reads standard input; with it only --text, --json-file, "
                                   "--suppressions and --verbose");
    return -1;
}

static int check_options(struct options *o)
{
    if (o->live)
        return check_live(o);
    if (o->live_text || o->live_json || o->ring || o->max_reports)
        return cli_usage("report", "--text and --json-file are for --live; expected --format and -o");
    if (!o->file_count)
        return cli_usage("report", "which report?");
    for (size_t i = 0; o->format_name && i <= RB_LENGTH(format_names); i++) {
        if (i == RB_LENGTH(format_names))
            return cli_usage("report", "--format %s: not known; expected text, json, sarif or html",
                             o->format_name);
        if (!strcmp(o->format_name, format_names[i])) {
            o->format = (enum format)i;
            break;
        }
    }
    if (o->partial && strcmp(o->partial, "list") != 0 && strcmp(o->partial, "report") != 0)
        return cli_usage("report", "--partial %s: expected list or report", o->partial);
    if (o->out && !strcmp(o->out, "-"))
        o->out = NULL;
    if (o->json && o->format_name && !o->out)
        return cli_usage("report",
                         "--json and --format cannot share standard output; -o says where one goes");
    for (size_t i = 0; o->out && i < o->file_count; i++)
        if (cli_same_file(o->out, o->files[i]))
            return cli_usage("report", "-o %s: that is a report to be read", o->out);
    if (o->out && o->baseline && cli_same_file(o->out, o->baseline))
        return cli_usage("report", "-o %s: that is the baseline", o->out);
    return -1;
}

static int take_suppressions(void *context, const char *value)
{
    struct options *o = context;

    o->suppressions[o->suppression_count++] = value;
    return -1;
}

static int take_debug_path(void *context, const char *value)
{
    struct options *o = context;

    free(o->debug_path);
    o->debug_path = realpath(value, NULL);
    return o->debug_path ? -1 : cli_usage("report", "--debug-path %s: %m", value);
}

// Returns -1 to go on, else an exit status.
static int parse_options(int argc, char **argv, struct options *o)
{
    static const struct cli_parser parser = {.command = "report", .help = help_text};
    const char *ring = "0", *max_reports = "0";
    const struct cli_option table[] = {
        {"", 'o', .text = &o->out},
        {"format", .text = &o->format_name},
        {"baseline", .text = &o->baseline},
        {"suppressions", .take = take_suppressions, .context = o},
        {"debug-path", .take = take_debug_path, .context = o},
        {"partial", .text = &o->partial},
        {"json", .flag = &o->json},
        {"verbose", .flag = &o->verbose},
        {"live", .flag = &o->live},
        {"text", .text = &o->live_text},
        {"json-file", .text = &o->live_json},
        {"ring", .text = &ring},
        {"max-reports", .text = &max_reports},
        {0},
    };
    int status;

    *o = (struct options){.suppressions = calloc((size_t)argc, sizeof(*o->suppressions))};
    if (!o->suppressions)
        return RB_EXIT_INTERNAL;
    status = cli_parse_options(&parser, table, argc, argv);
    if (status >= 0)
        return status;
    o->ring = atoi(ring);
    o->max_reports = strtoull(max_reports, NULL, 10);
    o->files = argv + optind;
    o->file_count = (size_t)(argc - optind);
    return check_options(o);
}

// ---- reading -------------------------------------------------------------------------------------------

struct work {
    const struct options *options;
    struct rb_symbolizer *symbolizer;
    struct rb_suppressions suppressions;
    struct rb_baseline baseline;
    struct rb_race_list races;
    uint64_t truncated, broken;
    size_t new;
};

// Adds a record. Names come first: suppressions match names, also those of callers, and callers differ
// between records of one race.
static int take_race(void *context, const char *line, size_t length, const char *place, struct rb_error *e)
{
    struct work *w = context;
    json_t *record;
    char id[RB_ID_SIZE];
    int status = rb_race_parse(line, length, place, &record, e);

    if (status < 0)
        return status;
    w->races.records++;
    rb_race_id(record, id);
    if (w->suppressions.count || !rb_race_list_find(&w->races, id))
        status = rb_symbolize(w->symbolizer, record, e);
    if (status == 0 && rb_suppressed(&w->suppressions, record)) {
        w->races.suppressed++;
        json_decref(record);
        return 0;
    }
    if (status == 0)
        return rb_race_list_add(&w->races, record, e);
    json_decref(record);
    return status;
}

static int take_baseline(void *context, const char *line, size_t length, const char *place,
                         struct rb_error *e)
{
    struct work *w = context;

    return rb_baseline_add(&w->baseline, line, length, place, e);
}

// Prints a line on stderr, without control characters, that does not change the status.
static void say_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say_note(const char *format, ...)
{
    struct rb_error note = {0};
    char text[sizeof(note.text)];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    rb_bad_input(&note, "%s", text);
    fprintf(stderr, "railbird report: %s\n", note.text);
}

static void say_passed_over(const struct rb_lines *lines)
{
    if (lines->broken > 1)
        say_note("%s; passed over, and %" PRIu64 " more", lines->first_broken.text, lines->broken - 1);
    else if (lines->broken)
        say_note("%s; passed over", lines->first_broken.text);
}

// Reads a file of records. A baseline is read strictly: a race missing from it would count as new.
static int read_file(struct work *w, const char *path, rb_line_fn take, struct rb_error *e)
{
    struct cli_progress progress;
    struct rb_lines lines = {.take = take,
                             .context = w,
                             .progress = cli_progress_step,
                             .progress_context = &progress,
                             .strict = take == take_baseline};
    int status;

    cli_progress_start(&progress, path);
    status = rb_read_lines(path, &lines, e);
    cli_progress_end(&progress);
    if (status < 0)
        return status;
    w->broken += lines.broken;
    w->truncated += lines.truncated;
    say_passed_over(&lines);
    if (lines.truncated)
        say_note("%s: the last line is not whole and was left out; its writer was stopped", path);
    return 0;
}

static int read_all(struct work *w, struct rb_error *e)
{
    const struct options *o = w->options;
    int status = rb_baseline_init(&w->baseline, e);

    w->symbolizer = rb_symbolizer_new(o->debug_path);
    if (!w->symbolizer && status == 0)
        status = rb_internal(e, "out of memory");
    for (size_t i = 0; status == 0 && i < o->suppression_count; i++)
        status = rb_suppressions_read(&w->suppressions, o->suppressions[i], e);
    if (status == 0 && o->baseline)
        status = read_file(w, o->baseline, take_baseline, e);
    for (size_t i = 0; status == 0 && i < o->file_count; i++)
        status = read_file(w, o->files[i], take_race, e);
    if (status < 0)
        return status;
    rb_race_list_end(&w->races);
    w->new = o->baseline ? rb_baseline_mark(&w->baseline, &w->races) : w->races.count;
    return 0;
}

// ---- writing -------------------------------------------------------------------------------------------

struct page {
    const struct work *work;
    struct rb_error *e;
    int status;
};

static void fill_page(FILE *out, void *context)
{
    struct page *page = context;
    const struct work *w = page->work;
    const struct rb_report report = {.races = &w->races,
                                     .version = RB_VERSION,
                                     .has_baseline = w->options->baseline != NULL,
                                     .verbose = w->options->verbose};

    switch (w->options->format) {
    case FORMAT_TEXT:
        page->status = rb_report_text(out, &report, page->e);
        break;
    case FORMAT_JSON:
        page->status = rb_report_json(out, &report, page->e);
        break;
    case FORMAT_SARIF:
        page->status = rb_report_sarif(out, &report, page->e);
        break;
    case FORMAT_HTML:
        page->status = rb_report_html(out, &report, page->e);
        break;
    }
}

static json_t *result_json(const struct work *w)
{
    const bool has_baseline = w->options->baseline != NULL;
    json_t *races = json_array();

    for (size_t i = 0; i < w->races.count; i++)
        if (json_array_append_new(races, rb_report_race_json(&w->races.race[i], has_baseline)) < 0) {
            json_decref(races);
            return NULL;
        }
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "files", (json_int_t)w->options->file_count,
                     "records", (json_int_t)w->races.records, "truncated", (json_int_t)w->truncated, "broken",
                     (json_int_t)w->broken, "suppressed", (json_int_t)w->races.suppressed, "distinct",
                     (json_int_t)w->races.count, "new", (json_int_t)w->new, "races", races);
}

static int write_all(const struct work *w, struct rb_error *e)
{
    const struct options *o = w->options;
    struct page page = {.work = w, .e = e};
    int status = 0;

    if (o->out)
        status = rb_html_write("-o", o->out, fill_page, &page, e);
    else if (!o->json)
        fill_page(stdout, &page);
    if (status == 0)
        status = page.status;
    if (status == 0 && o->json)
        status = cli_print_json(result_json(w), e);
    if (status == 0 && (fflush(stdout) == EOF || ferror(stdout)))
        status = rb_internal(e, "cannot write on standard output: %m");
    return status;
}

// Returns true if there is a race that is new, and not just a candidate of 'railbird watch' or known by
// partial evidence.
static bool has_race(const struct work *w)
{
    const bool takes_partial = w->options->partial && !strcmp(w->options->partial, "report");

    for (size_t i = 0; i < w->races.count; i++) {
        const struct rb_race *race = &w->races.race[i];
        if ((race->is_new || !w->options->baseline) && !json_object_get(race->record, "candidate") &&
            (takes_partial || !rb_race_is_partial(race->record)))
            return true;
    }
    return false;
}

// ---- live ----------------------------------------------------------------------------------------------

// Exit statuses for the runtime, which tells suppressed races from unreadable ones.
enum { LIVE_ALL_SUPPRESSED = 3, LIVE_NOTHING_READ = 4 };

static int run_live(const struct options *o)
{
    const struct rb_live_options options = {
        .name = "report",
        .text = o->live_text || o->live_json ? o->live_text : "-",
        .json_file = o->live_json,
        .suppressions = o->suppressions,
        .suppression_count = o->suppression_count,
        .verbose = o->verbose,
        .max_reports = o->max_reports,
    };
    struct rb_live_result result;

    if (o->ring) {
        if (!rb_live_run_ring(o->ring, &options, &result))
            return cli_usage("report", "--ring is for the runtime, which hands over a ring of records");
        _exit(RB_EXIT_OK); // at once: the program may wait for it
    }
    rb_live_run(stdin, &options, &result);
    if (!result.reported && !result.suppressed)
        return LIVE_NOTHING_READ;
    if (result.failed)
        return RB_EXIT_INTERNAL;
    return result.reported ? RB_EXIT_OK : LIVE_ALL_SUPPRESSED;
}

int cmd_report(int argc, char **argv)
{
    struct rb_error e = {0};
    struct options o;
    int status = parse_options(argc, argv, &o);

    if (status < 0 && o.live) {
        status = run_live(&o);
    } else if (status < 0) {
        struct work w = {.options = &o};
        rb_race_list_init(&w.races);
        status = read_all(&w, &e);
        if (status == 0)
            status = write_all(&w, &e);
        status = status < 0 ? cli_fail("report", &e) : has_race(&w) ? RB_EXIT_RACE : RB_EXIT_OK;
        rb_race_list_free(&w.races);
        rb_baseline_free(&w.baseline);
        rb_suppressions_free(&w.suppressions);
        rb_symbolizer_free(w.symbolizer);
    }
    free(o.suppressions);
    free(o.debug_path);
    return status;
}
