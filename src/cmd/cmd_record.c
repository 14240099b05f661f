// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// railbird record: runs a program with the recorder on, and makes a trace of its recording.
//
// The program writes a raw recording beside the trace, through shared mappings, so that the recording
// survives any end of the program. This process waits and merges it (lab/record/merge.h). If this process
// is killed as well, the raw recording stays, and --merge makes the trace.
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/argument_list.h"
#include "cmd/launch/launch.h"
#include "cmd/option_table.h"
#include "cmd/record_names.h"
#include "cmd/toolchain/toolchain.h"
#include "sample/sampler.h"

static const char help_text[] =
    "usage: railbird record -o T.rbt [--sampler S] [--no-functions] [--] PROGRAM ARGUMENTS...\n"
    "       railbird record -o T.rbt --merge T.rbt.raw\n"
    "\n"
    "Runs a program built with 'railbird cc' (or with -fsanitize=thread against the shared TSan runtime) "
    "and\n"
    "writes a trace of it: all synchronisation, the accesses the sampler takes, the functions entered and\n"
    "left. Races are reported while it runs, as by 'railbird run'. The program's exit status is passed on;\n"
    "it is 66 if races were found, 1 or 2 if there is no trace.\n"
    "\n"
    "  -o, --output FILE  the trace\n"
    "  --sampler S        which accesses are recorded, as for 'railbird run' (all)\n"
    "  --no-functions     no function events: smaller, but no samplers that go by functions\n"
    "  --merge FILE       makes the trace from a raw recording that was left because 'railbird record' "
    "itself\n"
    "                     was killed\n"
    "\n"
    "A program that is killed leaves a trace of all it did but the event each thread was writing.\n"
    "RAILBIRD_OPTIONS has further options, as 'railbird run -h' lists them.\n";

static void print_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void print_note(const char *format, ...)
{
    va_list args;

    fputs("railbird record: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

// ---- merge ---------------------------------------------------------------------------------------------

// Returns true if the recorded process is still running.
static bool is_still_running(const struct rb_raw_header *h)
{
    char exe[sizeof(h->program)];
    ssize_t n;

    if (h->state != RB_RAW_RUNNING || h->pid == 0 || h->pid > INT32_MAX || kill((pid_t)h->pid, 0))
        return false;
    n = readlink(cli_text("/proc/%u/exe", h->pid), exe, sizeof(exe) - 1);
    if (n < 0)
        return false;
    exe[n] = 0;
    return !strcmp(exe, h->program);
}

static void say_notes(const struct rb_raw_header *h, const struct rb_merge_notes *n, const char *output)
{
    if (isatty(STDERR_FILENO))
        print_note("%s: %" PRIu64 " events, %" PRIu64 " of them accesses, of %" PRIu64 " threads", output,
                   n->events, n->accesses, n->threads);
    if (h->stopped)
        print_note("%s: the recording ended before the program did (%s): what happened after is not in it",
                   output, strerror((int)h->stopped));
    else if (h->state != RB_RAW_ENDED)
        print_note("%s: the program was killed or became another: of each of its %" PRIu64
                   " threads the event it was writing may be missing",
                   output, n->running);
    if (n->holes || n->tail)
        print_note("%s: %" PRIu64 " events were begun and not written", output, n->holes + n->tail);
    if (h->others)
        print_note("%s: %u more processes, forked or started by the program, are not in it", output,
                   h->others);
    if (n->unmatched || n->overlapping)
        print_note("%s: %" PRIu64 " unlocks of a lock not seen locked and %" PRIu64
                   " locks of one not seen unlocked, kept as posts and waits",
                   output, n->unmatched, n->overlapping);
    if (n->reused)
        print_note("%s: %" PRIu64 " threads more than a trace holds, kept under numbers of ended ones",
                   output, n->reused);
}

// Makes the trace. Returns -1 if it is complete, else an exit status.
static int merge_recording(const char *raw_path, const char *output)
{
    struct rb_merge_notes notes;
    struct record_names names = {0};
    struct cli_progress progress;
    struct rb_error e = {0};
    struct rb_raw raw;
    int status = rb_raw_open(&raw, raw_path, &e);

    if (status < 0)
        return cli_fail("record", &e);
    if (raw.header.pid == 0)
        status = rb_bad_input(&e, "%s: no process recorded anything in it", raw_path);
    else if (is_still_running(&raw.header))
        status = rb_bad_input(&e, "%s: process %u is still writing it", raw_path, raw.header.pid);
    else if (!record_names_open(&names, &raw))
        status = rb_internal(&e, "out of memory");
    if (status == 0) {
        cli_progress_start(&progress, "merging");
        status = rb_merge(&raw, output, &names.names, &notes, cli_progress_step, &progress, &e);
        cli_progress_end(&progress);
    }
    if (status == 0)
        say_notes(&raw.header, &notes, output);
    record_names_close(&names);
    rb_raw_close(&raw);
    return status < 0 ? cli_fail("record", &e) : -1;
}

// ---- the run -------------------------------------------------------------------------------------------

// Creates the file for the runtime to write, with the header that the runtime reads. Returns NULL after
// filling `e`.
static char *make_raw(const char *output, bool functions, struct rb_error *e)
{
    const struct rb_raw_header header = {.magic = RB_RAW_MAGIC,
                                         .version = RB_RAW_VERSION,
                                         .flags = RB_RAW_ATTENDED | (functions ? RB_RAW_FUNCTIONS : 0)};
    char *path = cli_text("%s.raw", output), *real, page[RB_RAW_UNIT] = {0};
    struct stat st;

    if (stat(output, &st) == 0 && !S_ISREG(st.st_mode)) {
        rb_bad_input(e, "%s: not a regular file; a trace is written to a file on disk", output);
        return NULL;
    }
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST)
        rb_bad_input(e,
                     "%s is there from an earlier recording: make a trace of it with --merge, or remove it",
                     path);
    else if (fd < 0)
        rb_bad_input(e, "%s: cannot create: %m", path);
    if (fd < 0)
        return NULL;
    memcpy(page, &header, sizeof(header));
    const bool written = write(fd, page, sizeof(page)) == (ssize_t)sizeof(page);
    close(fd);
    real = written ? realpath(path, NULL) : NULL; // the program may change its folder
    if (!real) {
        rb_internal(e, "%s: cannot write: %m", path);
        unlink(path);
    }
    return real;
}

// Returns -1 to go on, else an exit status.
static int prepare_program(const char *path)
{
    struct rb_error e = {0};
    struct program p;

    program_look(path, &p);
    if (p.privileged)
        program_say_privileged(path, &e);
    else if (p.kind == PROGRAM_OURS && !p.needs_ours)
        return -1;
    else if (p.kind == PROGRAM_STATIC)
        rb_bad_input(
            &e,
            "%s has TSan's runtime linked into it, which cannot be replaced; build it with 'railbird "
            "cc', or with -fsanitize=thread -shared-libsan",
            path);
    else if (p.kind == PROGRAM_FOREIGN)
        rb_bad_input(&e, "%s is no program for x86-64: nothing in it can be recorded", path);
    else if (p.kind == PROGRAM_SHARED && !p.loader)
        rb_bad_input(&e, "%s has hooks and no loader to bring a runtime; build it with 'railbird cc'", path);
    if (e.fault != RB_FAULT_NONE)
        return cli_fail("record", &e);
    return run_preload("record") ? -1 : RB_EXIT_INTERNAL;
}

// Returns true if a process has recorded into the file.
static bool was_used(const char *raw)
{
    struct rb_raw_header header = {0};
    const int fd = open(raw, O_RDONLY | O_CLOEXEC);
    const bool read_it = fd >= 0 && read(fd, &header, sizeof(header)) == (ssize_t)sizeof(header);

    if (fd >= 0)
        close(fd);
    return !read_it || header.pid != 0;
}

static int record_program(char **words, const char *output, const char *sampler, bool functions)
{
    struct rb_error e = {0};
    struct launch l;
    char *path = launch_need(words[0], &e), *raw, *pair;
    int status;

    if (!path)
        return cli_fail("record", &e);
    if (cli_same_file(path, output))
        return cli_usage("record", "-o %s: that is the program itself", output);
    status = prepare_program(path);
    if (status >= 0)
        return status;
    raw = make_raw(output, functions, &e);
    if (!raw)
        return cli_fail("record", &e);
    pair = run_pair("record", raw);
    if (!pair) {
        unlink(raw);
        return cli_usage("record", "-o %s: a name with both kinds of quotes cannot be handed on", output);
    }
    run_add_options(pair);
    run_add_options(cli_text("sampler=%s", sampler ? sampler : "all"));
    setenv("RAILBIRD_TOOL", cli_tool_path(), 1);
    const int problem = launch_run(words, -1, &l);
    if (problem || !was_used(raw)) {
        unlink(raw);
        if (problem)
            rb_bad_input(&e, "cannot run '%s': %s", words[0], strerror(problem));
        else if (WIFSIGNALED(l.status))
            rb_bad_input(&e, "%s was ended by signal %d before it left anything: there is no trace", words[0],
                         WTERMSIG(l.status));
        else
            rb_bad_input(
                &e,
                "%s left nothing behind, as if it had no runtime of ours: there is no trace; build it "
                "with 'railbird cc'",
                words[0]);
        return cli_fail("record", &e);
    }
    status = merge_recording(raw, output);
    if (status >= 0) {
        print_note("the raw recording is kept: %s", raw);
        return status;
    }
    unlink(raw);
    return launch_end_like(l.status);
}

int cmd_record(int argc, char **argv)
{
    static const struct cli_parser parser = {.command = "record", .help = help_text, .stops = true};
    const char *output = NULL, *sampler = NULL, *raw = NULL;
    bool no_functions = false;
    const struct cli_option table[] = {
        {"output", 'o', .text = &output},
        {"sampler", .text = &sampler},
        {"no-functions", .flag = &no_functions},
        {"merge", .text = &raw},
        {0},
    };
    struct rb_sampler_spec spec;
    struct rb_error e = {0};
    int status = cli_parse_options(&parser, table, argc, argv);

    if (status >= 0)
        return status;
    if (!output || !*output)
        return cli_usage("record", "-o FILE: where is the trace to go?");
    if (sampler && rb_sampler_parse(sampler, &spec, &e) < 0)
        return cli_usage("record", "%s", e.text);
    if (raw && (optind < argc || sampler || no_functions))
        return cli_usage("record", "--merge takes a recording that is there already, and no program");
    if (!raw && optind == argc)
        return cli_usage("record", "which program?");
    if (!raw)
        return record_program(argv + optind, output, sampler, !no_functions);
    if (cli_same_file(raw, output))
        return cli_usage("record", "-o %s: that is the raw recording itself", output);
    status = merge_recording(raw, output);
    return status < 0 ? RB_EXIT_OK : status;
}
