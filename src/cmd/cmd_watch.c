// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// railbird watch: races in a program that was built without us. LD_PRELOAD brings the agent
// (librailbird_watch.so) into it, which finds races with hardware breakpoints: docs/explanation/watch.md.
//
// The program is inspected before its start, because an absent agent cannot report its absence. If the
// loader would not load the agent (static programs, programs with rights of their own), this command prints
// the reason and starts nothing.
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/argument_list.h"
#include "cmd/launch/launch.h"
#include "cmd/option_table.h"
#include "cmd/toolchain/toolchain.h"
#include "report/report.h"
#include "report/suppress.h"
#include "report/symbols/symbols.h"
#include "watch/code_table/code_table_build.h"

#define RB_WATCH_SHARED "librailbird_watch.so"

static const char help_text[] =
    "usage: railbird watch [OPTIONS] [--] PROGRAM ARGUMENTS...\n"
    "\n"
    "Finds data races in a program as it is, without building it anew, by hardware breakpoints (Linux 5.19 "
    "or "
    "later).\n"
    "Its exit status is passed on; it is 66 if a race was confirmed. Candidates are counted, and listed if "
    "asked for.\n"
    "\n"
    "  --mode MODE       clock: no thread is delayed, all that is found is a candidate; collide: threads are "
    "delayed\n"
    "                    before an access, what then meets is confirmed; both (default): candidates are "
    "confirmed so\n"
    "  --per-second N    samples, all threads together (default 100)\n"
    "  --rate P          instead: this share of the code's accesses, as 1%, the same ones again and again\n"
    "  --window MS       how long a breakpoint stays (default 15), or with --mode collide a delay lasts "
    "(default 1.5)\n"
    "  --module GLOB     watch only modules whose path or name is like this; may be repeated (default: the "
    "program,\n"
    "                    and libraries outside the system's folders)\n"
    "  --budget PCT      what it may cost, as 2% (default), of the program's processor time\n"
    "  --candidates      lists at the end what could not be confirmed, too\n"
    "  --no-atomics      the program has no atomic variables but locked instructions: what collides is "
    "confirmed,\n"
    "                    also when both accesses are plain moves\n"
    "  -o KEY=VALUE      an option of the runtime: report, log_path, suppressions, exitcode, halt_on_error, "
    "stats,\n"
    "                    seed; see 'railbird run -h'\n"
    "  --json            one JSON object on standard output: program, exit, races, candidates, stats; what "
    "the\n"
    "                    program writes on its standard output then goes to standard error\n";

struct watch {
    const char *mode;
    uint64_t per_second, rate, window_us, budget; // rate and budget in millionths, 0: not given
    char *modules;                                // lines for RAILBIRD_WATCH
    bool candidates, no_atomics, json;
};

// ---- options -------------------------------------------------------------------------------------------

static void keep_error(void *context, const char *line)
{
    rb_bad_input(context, "%s", line); // the first one stays
}

static int take_option(void *unused, const char *text)
{
    struct rb_error e = {0};
    const struct rb_options_host host = {&e, keep_error, NULL};
    struct rb_options o;

    (void)unused;
    rb_options_init(&o);
    if (!*text || rb_options_parse(&o, text, "-o", &host)) {
        if (!*text)
            rb_bad_input(&e, "-o: expected KEY=VALUE");
        return cli_usage("watch", "%s", e.text);
    }
    run_add_options(text);
    return -1;
}

// Reads milliseconds, as 15 or 0.5, into microseconds.
static int take_window(void *context, const char *value)
{
    uint64_t *us = context;
    char *end;
    const double ms = strtod(value, &end);

    if (end == value || *end || !(ms >= 0.01) || !(ms <= 10000))
        return cli_usage("watch", "--window '%s': expected milliseconds from 0.01 to 10000", value);
    *us = (uint64_t)(ms * 1000);
    return -1;
}

static bool read_millionths(const char *text, uint64_t *millionths)
{
    double share;

    if (!cli_share(text, &share) || share <= 0)
        return false;
    *millionths = share * 1e6 < 1 ? 1 : (uint64_t)(share * 1e6);
    return true;
}

static int take_rate(void *context, const char *value)
{
    if (read_millionths(value, context))
        return -1;
    return cli_usage("watch", "--rate '%s': expected a share above 0, as 1%% or 0.01", value);
}

static int take_budget(void *context, const char *value)
{
    if (read_millionths(value, context))
        return -1;
    return cli_usage("watch", "--budget '%s': expected a share above 0, as 2%% or 0.02", value);
}

static int take_module(void *context, const char *value)
{
    char **modules = context;

    if (!*value || strchr(value, '\n'))
        return cli_usage("watch", "--module: expected a name or a path, * for anything");
    *modules = cli_text("%smodule=%s\n", *modules, value);
    return -1;
}

// ---- program -------------------------------------------------------------------------------------------

// Inspects the program. Returns -1 to go on, else an exit status. Sets *alone if the program is to run
// without the agent, and *is_plain if it is itself watched, unlike a script.
static int prepare_program(const char *path, bool *alone, bool *is_plain)
{
    struct rb_error e = {0};
    struct program p;
    char table[PATH_MAX];

    program_look(path, &p);
    if (p.privileged)
        program_say_privileged(path, &e);
    else if (p.kind == PROGRAM_FOREIGN)
        rb_bad_input(&e, "%s is no program for x86-64: it cannot be watched", path);
    else if (p.kind == PROGRAM_OURS || p.kind == PROGRAM_STATIC || p.kind == PROGRAM_SHARED)
        rb_bad_input(&e, "%s is instrumented: 'railbird run' sees all of its synchronisation, and more races",
                     path);
    else if (p.kind == PROGRAM_PLAIN && !p.loader)
        rb_bad_input(&e,
                     "%s is linked statically, so that no agent can be loaded into it; link it dynamically",
                     path);
    if (e.fault != RB_FAULT_NONE)
        return cli_fail("watch", &e);
    *alone = p.refuses[0];
    if (*alone) {
        program_say_refuses(path, &p, &e);
        cli_fail("watch", &e);
        return -1;
    }
    *is_plain = p.kind == PROGRAM_PLAIN;
    if (p.kind == PROGRAM_PLAIN && rb_code_cached(path, table, sizeof(table), NULL, NULL, &e) < 0)
        cli_fail("watch", &e); // the agent leaves the program out; libraries may have their tables
    return -1;
}

static bool preload_agent(void)
{
    const char *agent = cli_lib_file(RB_WATCH_SHARED), *before = getenv("LD_PRELOAD");

    if (!cli_need_file("watch", agent))
        return false;
    if (strpbrk(agent, ": \t\n")) {
        fprintf(
            stderr,
            "railbird watch: %s cannot be preloaded, because the loader takes blanks and colons for the end "
            "of a name; install railbird elsewhere\n",
            agent);
        return false;
    }
    setenv("LD_PRELOAD", before && *before ? cli_text("%s:%s", agent, before) : agent, 1);
    return true;
}

static void set_settings(const struct watch *w)
{
    char *text = cli_text("mode=%s\nper_second=%" PRIu64 "\ncandidates=%d\nno_atomics=%d\n%s", w->mode,
                          w->per_second, w->candidates || w->json, w->no_atomics, w->modules);

    if (w->rate)
        text = cli_text("%srate=%" PRIu64 "\n", text, w->rate);
    if (w->window_us)
        text = cli_text("%s%s=%" PRIu64 "\n", text, strcmp(w->mode, "collide") ? "window" : "delay",
                        w->window_us);
    if (w->budget)
        text = cli_text("%sbudget=%" PRIu64 "\n", text, w->budget);
    setenv("RAILBIRD_WATCH", text, 1);
    setenv("RAILBIRD_TOOL", cli_tool_path(), 1);
}

// ---- --json --------------------------------------------------------------------------------------------

static char *make_temporary(struct rb_error *e)
{
    const char *dir = getenv("TMPDIR");
    char *path = cli_text("%s/railbird-XXXXXX", dir && dir[0] == '/' ? dir : "/tmp");
    const int fd = mkstemp(path);

    if (fd < 0) {
        rb_bad_input(e, "%s: cannot make a temporary file: %m; set TMPDIR to a writable folder", path);
        return NULL;
    }
    close(fd);
    return path;
}

// Reads the objects of a file, one on each line; returns an empty array if there are none.
static json_t *read_objects(const char *path)
{
    json_t *all = json_array(), *one;
    FILE *in = fopen(path, "re");

    while (all && in && (one = json_loadf(in, JSON_DISABLE_EOF_CHECK, NULL)))
        json_array_append_new(all, one);
    if (in)
        fclose(in);
    return all;
}

// Reads the reports through the report command, which merges the same race of several processes.
static json_t *read_reports(const char *raw, struct rb_error *e)
{
    char *out = make_temporary(e), said[512];
    json_t *all;

    if (!out)
        return json_array();
    char *const words[] = {(char *)cli_tool_path(),
                           (char *)"report",
                           (char *)"--format",
                           (char *)"json",
                           (char *)"-o",
                           out,
                           (char *)raw,
                           NULL};
    struct stat st;
    if (stat(raw, &st) == 0 && st.st_size > 0) {
        const int status = launch_capture(words, true, said, sizeof(said));
        said[strcspn(said, "\n")] = 0;
        if (!WIFEXITED(status) || (WEXITSTATUS(status) != RB_EXIT_OK && WEXITSTATUS(status) != RB_EXIT_RACE))
            rb_internal(e, "cannot read the reports: %s", said);
    }
    all = read_objects(out);
    unlink(out);
    return all;
}

static json_t *result_json(const char *name, const struct launch *l, json_t *reports, const json_t *stats)
{
    json_t *races = json_array(), *candidates = json_array(), *one, *own = NULL, *object;
    size_t i;

    json_array_foreach(reports, i, one)
        json_array_append(json_object_get(one, "candidate") ? candidates : races, one);
    json_decref(reports);
    json_array_foreach((json_t *)stats, i,
                       one) if (!own || json_integer_value(json_object_get(one, "pid")) == l->pid) own = one;
    object = json_pack("{s:o, s:i, s:o, s:o, s:O}", "program", cli_json_path(name), "exit",
                       launch_exit_status(l->status), "races", races, "candidates", candidates, "stats",
                       own ? own : json_null());
    if (object && WIFSIGNALED(l->status))
        json_object_set_new(object, "signal", json_integer(WTERMSIG(l->status)));
    return object;
}

static void warn_if_unsampled(const json_t *figures, const char *name)
{
    struct rb_error e = {0}; // for its one line without control characters

    if (run_total(figures, "samples") > 0 ||
        json_object_get(json_array_get(figures, 0), "missing")) // or the agent has reported the reason
        return;
    if (!json_array_size(figures))
        rb_bad_input(
            &e,
            "%s left no figures behind, as if it did without libc, became another program or was killed: no "
            "report does not mean no races",
            name);
    else
        rb_bad_input(&e,
                     "nothing of %s was looked at (%" JSON_INTEGER_FORMAT
                     " places to choose from, %" JSON_INTEGER_FORMAT
                     " tried): it had one thread, was too short, spent the budget or is made of code without "
                     "tables; no "
                     "report does not mean no races",
                     name, run_total(figures, "sites"), run_total(figures, "planted"));
    cli_fail("watch", &e);
}

// Runs the program as a child, and reports at its end: the object of --json, or a line if nothing was
// sampled.
static int run_attended(char **words, bool json, bool expects)
{
    struct rb_error e = {0};
    struct launch l = {0};
    char *reports = json ? make_temporary(&e) : NULL, *stats = !json || reports ? make_temporary(&e) : NULL;

    if (stats) {
        if (json)
            run_add_options(cli_text("report=json:%s", reports));
        run_add_options(cli_text("stats=json:%s", stats));
        fflush(stdout);
        const int problem = launch_run(words, json ? STDERR_FILENO : -1, &l);
        json_t *figures = read_objects(stats);
        if (problem)
            rb_bad_input(&e, "cannot run '%s': %s", words[0], strerror(problem));
        else if (expects)
            warn_if_unsampled(figures, words[0]);
        if (!problem && json) {
            json_t *object = result_json(words[0], &l, read_reports(reports, &e), figures);
            if (!object || json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(15)) < 0 ||
                putchar('\n') == EOF || fflush(stdout) == EOF)
                rb_internal(&e, "cannot write JSON on standard output: %m");
            json_decref(object);
        }
        json_decref(figures);
        unlink(stats);
    }
    if (reports)
        unlink(reports);
    return e.fault == RB_FAULT_NONE ? launch_end_like(l.status) : cli_fail("watch", &e);
}

// ---- start ---------------------------------------------------------------------------------------------

static int start_program(char **words, const struct watch *w)
{
    struct rb_error e = {0};
    char *path = launch_need(words[0], &e);
    bool alone = false, is_plain = false;
    struct rb_options given;
    int status;

    if (!path)
        return cli_fail("watch", &e);
    status = prepare_program(path, &alone, &is_plain);
    free(path);
    if (status >= 0)
        return status;
    set_settings(w);
    if (!alone && !preload_agent())
        return RB_EXIT_INTERNAL;
    rb_options_init(&given);
    if (getenv("RAILBIRD_OPTIONS")) // the agent reports a bad value
        rb_options_parse(&given, getenv("RAILBIRD_OPTIONS"), "RAILBIRD_OPTIONS", NULL);
    const bool figures = given.given >> RB_OPT_stats & 1; // requested: then nothing is left to report
    if (w->json || (is_plain && !figures))
        return run_attended(words, w->json, is_plain);
    execvp(words[0], words);
    rb_bad_input(&e, "cannot run '%s': %s", words[0], strerror(errno));
    return cli_fail("watch", &e);
}

int cmd_watch(int argc, char **argv)
{
    static const char *const modes[] = {"clock", "collide", "both", NULL};
    static const struct cli_parser parser = {.command = "watch", .help = help_text, .stops = true};
    struct watch w = {.per_second = 100, .modules = cli_text("%s", "")};
    int mode = 2;
    const struct cli_option table[] = {
        {"mode", .choice = &mode, .words = modes, .expected = "clock, collide or both"},
        {"per-second", .whole = &w.per_second, .low = 1, .high = 100000,
         .expected = "a number from 1 to 100000"},
        {"rate", .take = take_rate, .context = &w.rate},
        {"window", .take = take_window, .context = &w.window_us},
        {"module", .take = take_module, .context = &w.modules},
        {"budget", .take = take_budget, .context = &w.budget},
        {"candidates", .flag = &w.candidates},
        {"no-atomics", .flag = &w.no_atomics},
        {"", 'o', .take = take_option},
        {"json", .flag = &w.json},
        {0},
    };
    const int status = cli_parse_options(&parser, table, argc, argv);

    if (status >= 0)
        return status;
    if (optind == argc)
        return cli_usage("watch", "which program?");
    w.mode = modes[mode];
    return start_program(argv + optind, &w);
}
