// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs with a report at their end. The runtime writes its counters to a file when the program ends, and for
// --json its races to another. Both files are temporary and ours.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/argument_list.h"
#include "cmd/launch/launch.h"
#include "cmd/toolchain/toolchain.h"

// Makes an empty file for the runtime to write. The caller removes it.
static char *make_temporary(struct rb_error *e)
{
    const char *dir = getenv("TMPDIR");
    char *path;

    if (!dir || !*dir)
        dir = "/tmp";
    path = cli_text("%s/railbird-XXXXXX", dir);
    const int fd = mkstemp(path);
    if (fd < 0) {
        rb_bad_input(e, "%s: cannot make a temporary file: %m; set TMPDIR to a writable folder", dir);
        return NULL;
    }
    close(fd);
    if (path[0] != '/') { // the program may change its folder
        char *real = realpath(path, NULL);
        if (real)
            path = cli_text("%s", real);
        free(real);
    }
    return path;
}

// A file that the runtime writes for us: one of our own, or the one that the user named, from its old end
// on.
struct sink {
    char *path;
    off_t from;
    bool ours;
};

// Opens a sink. `also` is the option's word for the text that the user wants as well, or NULL.
static bool sink_open(struct sink *s, const char *key, const char *also, const char *asked_for,
                      struct rb_error *e)
{
    struct stat st;
    char *pair;

    if (asked_for[0]) {
        s->path = cli_text("%s", asked_for);
        s->from = stat(asked_for, &st) == 0 ? st.st_size : 0;
        return true;
    }
    s->path = make_temporary(e);
    if (!s->path)
        return false;
    s->ours = true;
    pair = run_pair(key, cli_text("%s%sjson:%s", also ? also : "", also ? "," : "", s->path));
    if (!pair) {
        rb_bad_input(e, "TMPDIR: a name with both kinds of quotes cannot be handed on");
        return false;
    }
    run_add_options(pair);
    return true;
}

static FILE *sink_read(const struct sink *s)
{
    FILE *in = fopen(s->path, "re");

    if (in)
        fseeko(in, s->from, SEEK_SET);
    return in;
}

static void sink_close(struct sink *s)
{
    if (s->ours)
        unlink(s->path);
}

// Reads the statistics: every process of the run writes an object when it ends.
static json_t *read_stats(const struct sink *stats)
{
    json_t *all = json_array();
    FILE *in = sink_read(stats);
    json_t *one;

    while (all && in && (one = json_loadf(in, JSON_DISABLE_EOF_CHECK, NULL)))
        json_array_append_new(all, one);
    if (in)
        fclose(in);
    return all;
}

json_int_t run_total(const json_t *all, const char *key)
{
    json_int_t sum = 0;
    size_t i;
    json_t *one;

    json_array_foreach((json_t *)all, i, one) sum += json_integer_value(json_object_get(one, key));
    return sum;
}

// Returns the program's own figures. If it left none (it was killed, or became another program), returns
// those of the last process to end.
static json_t *find_own_stats(const json_t *all, pid_t pid)
{
    size_t i;
    json_t *one;

    json_array_foreach((json_t *)all, i,
                       one) if (json_integer_value(json_object_get(one, "pid")) == pid) return one;
    return json_array_size(all) ? json_array_get(all, json_array_size(all) - 1) : NULL;
}

static void warn_if_unsampled(const json_t *all, const char *name)
{
    const bool any = json_array_size(all) > 0;
    struct rb_error e = {0}; // for its one line without control characters

    if (any && run_total(all, "sampled") > 0)
        return;
    if (!any)
        rb_bad_input(
            &e,
            "%s left no figures behind, as if it had no runtime or was killed: no report does not mean "
            "no races",
            name);
    else
        rb_bad_input(&e,
                     "nothing was sampled: %" JSON_INTEGER_FORMAT
                     " accesses of %s seen, none looked at: no report does not mean no races",
                     run_total(all, "accesses"), name);
    cli_fail("run", &e);
}

// Copies the part of the file that this run added into a new file; returns NULL if it added nothing.
static char *copy_added(const struct sink *s, struct rb_error *e)
{
    FILE *in = sink_read(s), *out;
    char bytes[8192], *path = NULL;
    size_t n = in ? fread(bytes, 1, sizeof(bytes), in) : 0;

    if (n > 0 && (path = make_temporary(e))) {
        out = fopen(path, "we");
        for (; out && n > 0; n = fread(bytes, 1, sizeof(bytes), in))
            fwrite(bytes, 1, n, out);
        if (!out || fclose(out) == EOF)
            rb_internal(e, "%s: cannot write: %m", path);
    }
    if (in)
        fclose(in);
    return path;
}

// Reads the races through the report command, which symbolizes them.
static json_t *read_races(const struct sink *s, const struct rb_options *given, struct rb_error *e)
{
    char *raw = copy_added(s, e), *out = raw ? make_temporary(e) : NULL, said[512];
    json_t *races = json_array(), *one;
    struct cli_words words = {0};

    if (out) {
        for (const char *const *w =
                 (const char *const[]){cli_tool_path(), "report", "--format", "json", "-o", out, NULL};
             *w; w++)
            cli_words_add(&words, *w);
        if (given->suppressions[0]) {
            cli_words_add(&words, "--suppressions");
            cli_words_add(&words, given->suppressions);
        }
        cli_words_add(&words, raw);
        const int status = launch_capture(words.word, true, said, sizeof(said));
        said[strcspn(said, "\n")] = 0;
        if (!WIFEXITED(status) || (WEXITSTATUS(status) != RB_EXIT_OK && WEXITSTATUS(status) != RB_EXIT_RACE))
            rb_internal(e, "cannot read the reports: %s", said);
        FILE *in = fopen(out, "re");
        while (races && in && (one = json_loadf(in, JSON_DISABLE_EOF_CHECK, NULL)))
            json_array_append_new(races, one);
        if (in)
            fclose(in);
        unlink(out);
    }
    if (raw)
        unlink(raw);
    return races;
}

static json_t *result_json(const char *name, const struct launch *l, const struct program *p,
                           const json_t *all, json_t *races)
{
    json_t *stats = find_own_stats(all, l->pid);
    const bool hooks = p->kind == PROGRAM_OURS || p->kind == PROGRAM_SHARED || run_total(all, "accesses") > 0;
    json_t *object = json_pack("{s:o, s:i, s:b, s:o}", "program", cli_json_path(name), "exit",
                               launch_exit_status(l->status), "instrumented", hooks, "races", races);

    if (object && WIFSIGNALED(l->status))
        json_object_set_new(object, "signal", json_integer(WTERMSIG(l->status)));
    if (object)
        json_object_set(object, "stats", stats ? stats : json_null());
    return object;
}

// Prints the object: times need more digits than cli_print_json prints.
static void print_json(json_t *object, struct rb_error *e)
{
    if (!object) {
        rb_internal(e, "out of memory for JSON");
        return;
    }
    if (json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(15)) < 0 || putchar('\n') == EOF ||
        fflush(stdout) == EOF)
        rb_internal(e, "cannot write JSON on standard output: %m");
    json_decref(object);
}

int run_watched(char **words, const struct rb_options *given, const struct program *p, bool json)
{
    const bool text = given->given >> RB_OPT_report & 1 && given->report;
    struct sink stats = {0}, races = {0};
    struct rb_error e = {0};
    struct launch l = {0};
    int problem;

    if (sink_open(&stats, "stats", given->stats ? "1" : NULL, given->stats_json, &e) &&
        (!json || sink_open(&races, "report", text ? "text" : NULL, given->report_json, &e))) {
        fflush(stdout);
        problem = launch_run(words, json ? STDERR_FILENO : -1, &l);
        if (problem) {
            rb_bad_input(&e, "cannot run '%s': %s", words[0], strerror(problem));
        } else {
            char *path = json ? realpath(races.path, NULL) : NULL;
            if (json || WIFSIGNALED(l.status))
                run_await_reporters(l.pid, path);
            free(path);
            json_t *all = read_stats(&stats);
            if (p->kind == PROGRAM_OURS || p->kind == PROGRAM_SHARED)
                warn_if_unsampled(all, words[0]);
            if (json)
                print_json(result_json(words[0], &l, p, all, read_races(&races, given, &e)), &e);
            json_decref(all);
        }
    }
    sink_close(&stats);
    sink_close(&races);
    return e.fault == RB_FAULT_NONE ? launch_end_like(l.status) : cli_fail("run", &e);
}
