// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// railbird trace: looks at, converts, checks and generates traces.
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cli.h"
#include "cmd/option_table.h"
#include "lab/generate/gen.h"
#include "trace/reader.h"

static const char help_text[] =
    "usage: railbird trace info TRACE [--json]            counts, tables, shape\n"
    "       railbird trace cat TRACE [--from N] [--count N]   events as text, with their numbers\n"
    "       railbird trace import TEXT -o T.rbt [--lenient]   from RAPID's STD text\n"
    "       railbird trace export TRACE [-o TEXT]             to STD text (standard output by default)\n"
    "       railbird trace check TRACE... [--lenient]         reads everything, verifies everything\n"
    "       railbird trace gen -o T.rbt [OPTIONS]             a well-formed trace from a seed\n"
    "\n"
    "TRACE is .rbt or STD text. Options of gen (numbers may be written 1e8, 100M, 64k):\n"
    "  --events N      events, exactly                        (1e6)\n"
    "  --threads N     threads                                (16)\n"
    "  --locks N       mutexes                                (256)\n"
    "  --variables N   memory locations                       (100000)\n"
    "  --sync P        share of events that synchronise       (0.15)\n"
    "  --race P        share of accesses left unprotected     (0.001)\n"
    "  --nesting N     most locks a thread holds at once      (2)\n"
    "  --functions N   functions; 0 writes no function events (200)\n"
    "  --sharing P     share of critical sections on a lock that is not the thread's own (0.10)\n"
    "  --rich P        share of synchronisation that is read-write locks, semaphores, barriers, atomics (0)\n"
    "  --seed N        (1)\n";

struct options {
    const char *output;
    bool json, lenient;
    uint64_t from, count;
    struct rb_gen_options gen;
    char **inputs;
    int input_count;
};

// Returns -1 to go on, else an exit status.
static int parse_options(int argc, char **argv, struct options *o)
{
    static const struct cli_parser parser = {.command = "trace", .help = help_text};
    struct rb_gen_options *gen = &o->gen;
    const struct cli_option table[] = {
        {"output", 'o', .text = &o->output},
        {"json", .flag = &o->json},
        {"lenient", .flag = &o->lenient},
        {"from", .whole = &o->from, .high = RB_MAX_EVENTS},
        {"count", .whole = &o->count, .high = UINT64_MAX},
        {"events", .whole = &gen->events, .low = 1, .high = RB_MAX_EVENTS},
        {"threads", .whole32 = &gen->threads, .low = 1, .high = RB_MAX_THREADS},
        {"locks", .whole32 = &gen->locks, .low = 1, .high = 1u << 30},
        {"variables", .whole = &gen->variables, .low = 1, .high = UINT64_C(1) << 40},
        {"sync", .share = &gen->sync},
        {"race", .share = &gen->race},
        {"nesting", .whole32 = &gen->nesting, .low = 1, .high = 1000},
        {"functions", .whole32 = &gen->functions, .high = 1u << 20},
        {"sharing", .share = &gen->sharing},
        {"rich", .share = &gen->rich},
        {"seed", .whole = &gen->seed, .high = UINT64_MAX},
        {0},
    };

    return cli_parse_options(&parser, table, argc, argv);
}

// ---- info ----------------------------------------------------------------------------------------------

static const char *const table_names[] = {"threads", "locks", "variables", "locations", "functions", "marks"};
_Static_assert(RB_LENGTH(table_names) == RBT_TABLES, "one name a table");

static json_t *info_json(const struct rb_reader *r, const char *path)
{
    const struct rbt_header *h = &r->header;
    json_t *kinds = json_object(), *tables = json_object();

    for (int op = 0; op < RB_OPS; op++)
        if (rb_op_info[op].text && h->events_of[op])
            json_object_set_new(kinds, *rb_op_info[op].text ? rb_op_info[op].text : "mark",
                                json_integer((json_int_t)h->events_of[op]));
    for (int t = 0; t < RBT_TABLES; t++)
        json_object_set_new(tables, table_names[t], json_integer((json_int_t)h->table[t].count));
    return json_pack("{s:o, s:i, s:I, s:I, s:I, s:I, s:i, s:b, s:b, s:o, s:o}", "trace", cli_json_path(path),
                     "version", (int)h->version, "events", (json_int_t)h->events, "accesses",
                     (json_int_t)h->accesses, "threads", (json_int_t)h->threads_run, "locks_held",
                     (json_int_t)h->locks_held, "record_bytes", (int)h->record_bytes, "finished",
                     !r->recovered, "lenient", (h->flags & RBT_LENIENT) != 0, "tables", tables, "kinds",
                     kinds);
}

static void info_text(const struct rb_reader *r, const char *path)
{
    const struct rbt_header *h = &r->header;

    printf("%s: %" PRIu64 " events, %" PRIu64 " of them accesses (format %" PRIu32 ", %" PRIu32
           "-byte records%s%s)\n",
           path, h->events, h->accesses, h->version, h->record_bytes, r->recovered ? ", unfinished" : "",
           h->flags & RBT_LENIENT ? ", lenient" : "");
    printf("threads %" PRIu64 ", at most %" PRIu64 " locks held at once\n", h->threads_run, h->locks_held);
    printf("tables ");
    for (int t = 0; t < RBT_TABLES; t++)
        printf(" %s %" PRIu64 "%s", table_names[t], h->table[t].count, t + 1 < RBT_TABLES ? "," : "\n");
    for (int op = 0; op < RB_OPS; op++)
        if (rb_op_info[op].text && h->events_of[op])
            printf("  %-7s %12" PRIu64 "  %6.3f %%\n", *rb_op_info[op].text ? rb_op_info[op].text : "mark",
                   h->events_of[op], 100.0 * (double)h->events_of[op] / (double)h->events);
}

static int print_info(const struct options *o, struct rb_error *e)
{
    struct rb_reader r;
    int status = cli_open_trace("trace", o->inputs[0], o->lenient, &r, e);

    if (status < 0)
        return status;
    if (o->json)
        status = cli_print_json(info_json(&r, o->inputs[0]), e);
    else
        info_text(&r, o->inputs[0]);
    rb_reader_close(&r);
    return status;
}

// ---- cat -----------------------------------------------------------------------------------------------

static void print_event(const struct rb_reader *r, const struct rb_event *event, uint64_t index)
{
    const struct rb_op_info *op = &rb_op_info[event->op];
    char thread[32], target[32], location[32];
    const char *name = rb_reader_name(r, rb_table_of_space[op->space], event->target, target);

    printf("%" PRIu64 "\t%s\t", index, rb_reader_name(r, RBT_THREADS, event->thread, thread));
    if (*op->text)
        printf("%s(%s)", op->text, name);
    else
        fputs(name, stdout);
    printf("\t%s\n", rb_reader_name(r, RBT_LOCATIONS, event->location, location));
}

static int print_events(const struct options *o, struct rb_error *e)
{
    struct rb_reader r;
    int status = cli_open_trace("trace", o->inputs[0], o->lenient, &r, e);

    if (status < 0)
        return status;
    const uint64_t end = o->count < r.header.events - o->from && o->from <= r.header.events
                             ? o->from + o->count
                             : r.header.events;
    status = rb_reader_load_names(&r, e);
    for (uint64_t i = o->from; i < end && status == 0 && !ferror(stdout); i++) {
        struct rb_event event;
        status = rb_reader_event(&r, i, &event, e);
        if (status == 0 && !rb_reader_target_ok(&r, &event))
            status = rb_bad_input(e, "%s: event %" PRIu64 ": its target is in no table", o->inputs[0], i);
        if (status == 0)
            print_event(&r, &event, i);
    }
    rb_reader_close(&r);
    return status;
}

// ---- import, export, check, gen ------------------------------------------------------------------------

static int import_text(const struct options *o, struct rb_error *e)
{
    struct rb_std_notes notes = {0};
    struct rb_writer w;
    int status;

    if (cli_same_file(o->inputs[0], o->output))
        return rb_bad_input(e, "%s: input and output are the same file", o->output);
    status = rb_writer_open(&w, o->output, -1, NULL, e);
    if (status == 0)
        status = rb_std_import(o->inputs[0], &w, o->lenient, &notes, e);
    if (status == 0)
        cli_say_notes("trace", o->inputs[0], &notes);
    return status;
}

// Removes an incomplete text, which would look like a complete one.
static void discard_file(const char *path)
{
    struct stat st;

    if (lstat(path, &st) == 0 && S_ISREG(st.st_mode))
        unlink(path);
}

static int export_text(const struct options *o, struct rb_error *e)
{
    const bool to_file = o->output && strcmp(o->output, "-");
    uint64_t foreign = 0, renamed = 0;
    struct rb_reader r;
    FILE *out = stdout;
    int status = cli_open_trace("trace", o->inputs[0], o->lenient, &r, e);

    if (status < 0)
        return status;
    if (to_file && cli_same_file(o->inputs[0], o->output))
        status = rb_bad_input(e, "%s: input and output are the same file", o->output);
    else if (to_file && !(out = fopen(o->output, "we")))
        status = rb_bad_input(e, "%s: cannot write: %m", o->output);
    if (status == 0)
        status = rb_std_export(&r, out, &foreign, &renamed, e);
    if (to_file && out && out != stdout) {
        if (fclose(out) && status == 0)
            status = rb_internal(e, "%s: cannot write: %m", o->output);
        if (status < 0)
            discard_file(o->output);
    }
    rb_reader_close(&r);
    if (status == 0 && foreign)
        fprintf(stderr, "railbird trace: %" PRIu64 " events are of kinds that RAPID does not read\n",
                foreign);
    if (status == 0 && renamed)
        fprintf(stderr,
                "railbird trace: %" PRIu64 " names are not as STD text can hold them and were changed\n",
                renamed);
    return status;
}

static void print_note(const char *path, uint64_t count, const char *what)
{
    if (count)
        printf("%s: note: %" PRIu64 " %s\n", path, count, what);
}

static int check_one(const struct options *o, const char *path, struct rb_error *e)
{
    struct rb_check_notes n;
    struct cli_progress progress;
    struct rb_reader r;
    int status = cli_open_trace("trace", path, o->lenient, &r, e);

    if (status < 0)
        return status;
    cli_progress_start(&progress, path);
    status = rb_check(&r, o->lenient, &n, cli_progress_step, &progress, e);
    cli_progress_end(&progress);
    if (status == 0) {
        printf("%s: ok, %" PRIu64 " events\n", path, r.header.events);
        print_note(path, n.unmatched_release, "releases of locks not held");
        print_note(path, n.overlapping_acquire, "acquires of locks held elsewhere");
        print_note(path, n.open_locks, "locks still held at the end");
        print_note(path, n.exit_without_enter, "function exits without an entry");
        print_note(path, n.runs_before_fork, "threads that run before they are forked");
        print_note(path, n.forked_twice, "forks of a thread forked before");
        print_note(path, n.runs_after_join, "events of threads already joined");
    }
    rb_reader_close(&r);
    return status;
}

static int check_traces(const struct options *o, struct rb_error *e)
{
    int status = 0;

    for (int i = 0; i < o->input_count && status == 0; i++)
        status = check_one(o, o->inputs[i], e);
    return status;
}

static int generate_trace(const struct options *o, struct rb_error *e)
{
    struct cli_progress progress;
    int status;

    cli_progress_start(&progress, o->output);
    status = rb_gen(&o->gen, o->output, cli_progress_step, &progress, e);
    cli_progress_end(&progress);
    return status;
}

static const struct verb {
    const char *name;
    int (*run)(const struct options *o, struct rb_error *e);
    int least, most; // inputs
    bool writes;     // needs an output; may be given as the last plain argument
} verbs[] = {
    {"info", print_info, 1, 1, false},          {"cat", print_events, 1, 1, false},
    {"import", import_text, 1, 1, true},        {"export", export_text, 1, 1, false},
    {"check", check_traces, 1, 1 << 20, false}, {"gen", generate_trace, 0, 0, true},
};

static const struct verb *find_verb(const char *name)
{
    for (size_t i = 0; i < RB_LENGTH(verbs); i++)
        if (!strcmp(verbs[i].name, name))
            return &verbs[i];
    return NULL;
}

int cmd_trace(int argc, char **argv)
{
    struct options o = {.count = UINT64_MAX, .gen = rb_gen_defaults};
    struct rb_error e = {0};
    const struct verb *verb;
    int status;

    if (argc >= 2 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))) {
        fputs(help_text, stdout);
        return RB_EXIT_OK;
    }
    verb = argc >= 2 ? find_verb(argv[1]) : NULL;
    if (!verb)
        return cli_usage("trace", "expected info, cat, import, export, check or gen%s%s",
                         argc >= 2 ? "; found " : "", argc >= 2 ? argv[1] : "");
    argc--;
    argv++;
    status = parse_options(argc, argv, &o);
    if (status >= 0)
        return status;
    o.inputs = argv + optind;
    o.input_count = argc - optind;
    // `import IN OUT`, `export IN OUT` and `gen OUT` work as well as -o OUT.
    if (!o.output && o.input_count == verb->most + 1 && (verb->writes || verb->run == export_text))
        o.output = o.inputs[--o.input_count];
    if (o.input_count < verb->least || o.input_count > verb->most)
        return cli_usage("trace", "%s: expected %s, found %d", verb->name,
                         verb->most == 0   ? "no trace to read"
                         : verb->most == 1 ? "one trace to read"
                                           : "at least one trace to read",
                         o.input_count);
    if (verb->writes && !o.output)
        return cli_usage("trace", "%s: where to? -o FILE is missing", verb->name);
    status = verb->run(&o, &e);
    if (status == 0 && (fflush(stdout) || ferror(stdout)))
        status = rb_internal(&e, "cannot write on standard output: %m");
    return status < 0 ? cli_fail("trace", &e) : RB_EXIT_OK;
}
