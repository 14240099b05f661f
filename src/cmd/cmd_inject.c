// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// railbird inject: makes traces with a race of two known events from a trace without it, and checks such a
// trace.
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cmd/cli.h"
#include "cmd/option_table.h"
#include "lab/inject/inject.h"
#include "lab/inject/inject_files.h"
#include "lab/inject/negatives.h"

#define NAME "inject"

#define DEFAULT_WINDOW    100u
#define MOST_WINDOW       1000u
#define MOST_TRACES       1000000u
#define MOST_JOBS         256u
#define DEFAULT_NEGATIVES 4u

static const char help_text[] =
    "usage: railbird inject BASE -n N -o DIR [OPTIONS]\n"
    "       railbird inject --verify BASE INJECTED\n"
    "\n"
    "Makes N traces from BASE (.rbt, or RAPID's STD text). In each, two threads access a new variable where "
    "BASE\n"
    "changes from one to the other, and events are then reordered such that the two come far apart, in ways "
    "that\n"
    "the program could have run. DIR/labels.json says which two events race. Every trace is verified before "
    "it is\n"
    "written. With --verify: is INJECTED such a trace of BASE, and does its label say so?\n"
    "\n"
    "  -n, --traces N      how many\n"
    "  -o, --output DIR    where; labels of other bases there are kept\n"
    "  --distance L        apart by at least L events, and not much more (default: as far as it goes for "
    "half of the\n"
    "                      traces, less for the others)\n"
    "  --kind K            ww, rw or wr: what the first and the second do in time (ww)\n"
    "  --window W          events that the solver looks at together, 10 to 1000 (100)\n"
    "  --negatives N       pairs that do not race to be labelled too, for each trace, 0 to 64 (4)\n"
    "  --encoding E        tight: scheduler first, then a small encoding; paper: the solver alone, as "
    "published (tight)\n"
    "  --format F          rbt or std (rbt)\n"
    "  --jobs J            traces made at once (default: one for each processor)\n"
    "  --time-limit S      stops after S seconds with what there is\n"
    "  --seed N            (1)\n"
    "  --json              one JSON object on standard output\n"
    "\n"
    "Exit status: 0 done, or INJECTED is right; 2 bad usage or input, or INJECTED is not (one line says "
    "why).\n";

struct options {
    struct rb_inject_options inject;
    bool verify, json;
    const char *injected;
};

static int take_time_limit(void *context, const char *value)
{
    double *seconds = context;
    char *end;

    *seconds = strtod(value, &end);
    if (end == value || *end || !(*seconds > 0) || !isfinite(*seconds))
        return cli_usage(NAME, "--time-limit %s: expected seconds, more than 0", value);
    return -1;
}

static int take_distance(void *context, const char *value)
{
    struct rb_inject_options *i = context;

    i->plan.bounded = true;
    if (cli_whole(value, 0, UINT32_MAX, &i->plan.distance))
        return -1;
    return cli_usage(NAME, "--distance %s: expected a whole number from 0 to %" PRIu32, value, UINT32_MAX);
}

static unsigned count_processors(void)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);

    return cores < 1 ? 1 : cores > (long)MOST_JOBS ? MOST_JOBS : (unsigned)cores;
}

// Returns -1 to go on, else an exit status.
static int parse_options(int argc, char **argv, struct options *o)
{
    static const char *const kinds[] = {[RB_KIND_WW] = "ww", [RB_KIND_RW] = "rw", [RB_KIND_WR] = "wr", NULL};
    static const char *const encodings[] = {
        [RB_ENCODING_TIGHT] = "tight", [RB_ENCODING_PAPER] = "paper", NULL};
    static const char *const formats[] = {"rbt", "std", NULL};
    static const struct cli_parser parser = {.command = NAME, .help = help_text};
    struct rb_inject_options *i = &o->inject;
    int kind = RB_KIND_WW, encoding = RB_ENCODING_TIGHT, format = 0;
    const struct cli_option table[] = {
        {"verify", .flag = &o->verify},
        {"traces", 'n', .whole = &i->traces, .low = 1, .high = MOST_TRACES},
        {"output", 'o', .text = &i->dir},
        {"distance", .take = take_distance, .context = i},
        {"kind", .choice = &kind, .words = kinds},
        {"window", .whole32 = &i->plan.window, .low = 10, .high = MOST_WINDOW},
        {"negatives", .whole32 = &i->negatives, .high = RB_MOST_NEGATIVES},
        {"encoding", .choice = &encoding, .words = encodings},
        {"format", .choice = &format, .words = formats},
        {"jobs", .whole32 = &i->jobs, .low = 1, .high = MOST_JOBS},
        {"time-limit", .take = take_time_limit, .context = &i->time_limit},
        {"seed", .whole = &i->seed, .high = INT64_MAX},
        {"json", .flag = &o->json},
        {0},
    };
    int status;

    *o = (struct options){.inject = {.plan.window = DEFAULT_WINDOW,
                                     .seed = 1,
                                     .negatives = DEFAULT_NEGATIVES,
                                     .jobs = count_processors()}};
    status = cli_parse_options(&parser, table, argc, argv);
    if (status >= 0)
        return status;
    i->kind = (enum rb_kind)kind;
    i->plan.encoding = (enum rb_encoding)encoding;
    i->text = format == 1;
    i->base = argv[optind];
    if (o->verify) {
        if (argc - optind != 2)
            return cli_usage(NAME, "--verify: expected two traces, BASE and INJECTED");
        o->injected = argv[optind + 1];
        return -1;
    }
    if (argc - optind != 1)
        return cli_usage(NAME, argc - optind < 1 ? "which BASE?" : "%s: one BASE at a time", argv[argc - 1]);
    if (!i->traces)
        return cli_usage(NAME, "-n: how many traces?");
    return i->dir ? -1 : cli_usage(NAME, "-o: into which folder?");
}

// ---- inject --------------------------------------------------------------------------------------------

static int interrupted; // atomic
static volatile sig_atomic_t interrupted_by;

static void on_signal(int signal)
{
    interrupted_by = signal;
    rb_store_relaxed(&interrupted, 1);
}

struct bar {
    struct cli_progress progress;
    char label[96];
};

static void show_progress(void *context, uint64_t made, uint64_t wanted, uint64_t distance)
{
    struct bar *b = context;

    snprintf(b->label, sizeof(b->label), "%" PRIu64 " of %" PRIu64 " traces, up to %" PRIu64 " events apart",
             made, wanted, distance);
    cli_progress_step(&b->progress, made, wanted);
}

static double mean_distance(const struct rb_inject_result *r)
{
    return r->made ? r->distance_sum / (double)r->made : 0;
}

static double distance_deviation(const struct rb_inject_result *r)
{
    const double n = (double)r->made, m = mean_distance(r),
                 v = r->made > 1 ? (r->distance_squares - n * m * m) / (n - 1) : 0;

    return v > 0 ? sqrt(v) : 0;
}

static const char *describe_end(const struct rb_inject_result *r)
{
    return r->was_interrupted ? "interrupted" : r->out_of_time ? "time limit" : "done";
}

static json_t *counts_json(const struct rb_solver_counts *c)
{
    return json_pack("{s:I, s:I, s:I, s:I}", "calls", (json_int_t)c->calls, "sat", (json_int_t)c->sat,
                     "unsat", (json_int_t)c->unsat, "unknown", (json_int_t)c->unknown);
}

static json_t *result_json(const struct options *o, const struct rb_inject_result *r)
{
    return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:s, s:{s:f, s:f, s:I}, s:I, s:I, s:I, s:I, s:o, s:o, "
                     "s:{s:I, s:I, s:I, s:I}, "
                     "s:I, s:f}",
                     "base", cli_json_path(o->inject.base), "events", (json_int_t)r->events, "threads",
                     (json_int_t)r->threads, "points", (json_int_t)r->points, "wanted",
                     (json_int_t)o->inject.traces, "made", (json_int_t)r->made, "ended", describe_end(r),
                     "distance", "mean", mean_distance(r), "sd", distance_deviation(r), "max",
                     (json_int_t)r->distance_most, "short_of_distance", (json_int_t)r->short_of,
                     "with_reversed_sections", (json_int_t)r->reversed, "moved_by_solver",
                     (json_int_t)r->solver_traces, "scheduler_moves", (json_int_t)r->moves, "solver",
                     counts_json(&r->solver), "proofs", counts_json(&r->proofs), "negatives", "trace",
                     (json_int_t)r->negatives[RB_PROOF_TRACE], "window",
                     (json_int_t)r->negatives[RB_PROOF_WINDOW], "hb", (json_int_t)r->negatives[RB_PROOF_HB],
                     "races_dropped", (json_int_t)r->races, "seed", (json_int_t)o->inject.seed, "seconds",
                     r->seconds);
}

static void result_text(const struct options *o, const struct rb_inject_result *r)
{
    printf("%s: %" PRIu64 " events, %" PRIu64 " threads, %" PRIu64 " points\n", o->inject.base, r->events,
           r->threads, r->points);
    printf("%" PRIu64 " of %" PRIu64 " traces in %s, all verified, in %.1f s%s\n", r->made, o->inject.traces,
           o->inject.dir, r->seconds,
           r->was_interrupted ? " (interrupted)"
           : r->out_of_time   ? " (time limit)"
                              : "");
    printf("distance %.0f ± %.0f, at most %" PRIu64 "; %" PRIu64 " with critical sections in another order",
           mean_distance(r), distance_deviation(r), r->distance_most, r->reversed);
    if (o->inject.plan.bounded && r->short_of)
        printf("; %" PRIu64 " could not be moved as far as asked", r->short_of);
    printf("\nscheduler: %" PRIu64 " moves; solver: %" PRIu64 " calls, %" PRIu64
           " unknown, a hand in %" PRIu64 " traces\n",
           r->moves, r->solver.calls, r->solver.unknown, r->solver_traces);
    printf("negatives: %" PRIu64 " proven on the whole trace, %" PRIu64 " on a window, %" PRIu64
           " by happens-before alone\n",
           r->negatives[RB_PROOF_TRACE], r->negatives[RB_PROOF_WINDOW], r->negatives[RB_PROOF_HB]);
}

static int make_traces(struct options *o, struct rb_error *e)
{
    struct rb_inject_result result;
    struct rb_reader base;
    struct bar bar = {.label = "injecting"};
    // Lenient: locks that the base misuses keep the order of all their events.
    int status = cli_open_trace(NAME, o->inject.base, true, &base, e);

    if (status < 0)
        return status;
    // A second signal changes nothing: the files are complete a moment after the first.
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    o->inject.interrupted = &interrupted;
    o->inject.progress = show_progress;
    o->inject.context = &bar;
    cli_progress_start(&bar.progress, bar.label);
    status = rb_inject(&base, &o->inject, &result, e);
    cli_progress_end(&bar.progress);
    rb_reader_close(&base);
    if (status < 0)
        return status;
    if (o->json)
        status = cli_print_json(result_json(o, &result), e);
    else
        result_text(o, &result);
    if (status == 0 && fflush(stdout) == EOF)
        status = rb_internal(e, "cannot write on standard output: %m");
    if (status == 0 && result.was_interrupted) { // all is written: now the effect of the signal
        signal(interrupted_by, SIG_DFL);
        raise(interrupted_by);
    }
    return status;
}

// ---- verify --------------------------------------------------------------------------------------------

// Converts the base to text and back. Text has other names for the things it cannot express, so a base that
// is compared with a text must be converted too.
static int convert_through_text(struct rb_reader *r, struct rb_error *e)
{
    const int text = memfd_create("text", MFD_CLOEXEC), trace = memfd_create("trace", MFD_CLOEXEC);
    FILE *out = text >= 0 && trace >= 0 ? fdopen(dup(text), "w") : NULL;
    struct rb_std_notes notes;
    uint64_t foreign, renamed;
    struct rb_writer w;
    const char *path = r->path;
    char name[64];
    int status = out ? rb_std_export(r, out, &foreign, &renamed, e)
                     : rb_internal(e, "no memory files to read %s as text: %m", path);

    if (out)
        fclose(out);
    snprintf(name, sizeof(name), "/proc/self/fd/%d", text);
    if (status == 0) {
        status = rb_writer_open(&w, path, trace, NULL, e);
        if (status == 0)
            status = rb_std_import(name, &w, true, &notes, e);
        if (status == 0) {
            rb_reader_close(r);
            status = rb_reader_open_fd(r, trace, path, e);
            if (status < 0)
                *r = (struct rb_reader){.fd = -1};
        }
    } else if (trace >= 0) {
        close(trace);
    }
    if (text >= 0)
        close(text);
    return status;
}

static bool is_text(const char *path)
{
    char magic[sizeof(RBT_MAGIC) - 1] = "";
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const bool trace = fd >= 0 && read(fd, magic, sizeof(magic)) == (ssize_t)sizeof(magic) &&
                       !memcmp(magic, RBT_MAGIC, sizeof(magic));

    if (fd >= 0)
        close(fd);
    return fd >= 0 && !trace;
}

// Opens a trace as cli_open_trace does, but without notes on odd events: the verifier reports them.
static int open_any(const char *path, struct rb_reader *r, struct rb_error *e)
{
    struct rb_std_notes notes;
    struct rb_writer w;
    int status;

    if (!is_text(path))
        return cli_open_trace(NAME, path, true, r, e);
    const int fd = memfd_create("trace", MFD_CLOEXEC);
    if (fd < 0)
        return rb_internal(e, "%s: no memory file to read it into: %m", path);
    status = rb_writer_open(&w, path, fd, NULL, e);
    if (status == 0)
        status = rb_std_import(path, &w, true, &notes, e);
    return status < 0 ? status : rb_reader_open_fd(r, fd, path, e);
}

static int verify_trace(const struct options *o, struct rb_error *e)
{
    const char *base_path = o->inject.base;
    struct rb_reader base, injected;
    struct rb_verify_pair p;
    char a[32], b[32];
    int labelled = 0, status = open_any(base_path, &base, e);

    if (status < 0)
        return status;
    status = open_any(o->injected, &injected, e);
    if (status < 0) {
        rb_reader_close(&base);
        return status;
    }
    if (is_text(o->injected) && !is_text(base_path))
        status = convert_through_text(&base, e);
    if (status == 0)
        status = rb_verify_files(&base, &injected, &p, e);
    if (status == 0)
        status = labelled = rb_labels_check(&injected, &p, e);
    if (status >= 0 && o->json)
        status = cli_print_json(json_pack("{s:o, s:o, s:b, s:[I,I], s:[s,s], s:s, s:I, s:I, s:b}", "base",
                                          cli_json_path(base_path), "injected", cli_json_path(o->injected),
                                          "correct", 1, "events", (json_int_t)p.at[0], (json_int_t)p.at[1],
                                          "threads", rb_reader_name(&base, RBT_THREADS, p.thread[0], a),
                                          rb_reader_name(&base, RBT_THREADS, p.thread[1], b), "kind",
                                          rb_kind_name(p.op), "distance", (json_int_t)p.distance, "point",
                                          (json_int_t)p.point, "labelled", labelled),
                                e);
    else if (status >= 0)
        printf("%s: a correct reordering of %s with a race of events %" PRIu64 " and %" PRIu64 ", %" PRIu64
               " events apart; %s\n",
               o->injected, base_path, p.at[0], p.at[1], p.distance,
               labelled ? "its label says so" : "it has no label");
    rb_reader_close(&base);
    rb_reader_close(&injected);
    return status < 0 ? status : 0;
}

int cmd_inject(int argc, char **argv)
{
    struct rb_error e = {0};
    struct options o;
    int status = parse_options(argc, argv, &o);

    if (status >= 0)
        return status;
    status = o.verify ? verify_trace(&o, &e) : make_traces(&o, &e);
    return status < 0 ? cli_fail(NAME, &e) : RB_EXIT_OK;
}
