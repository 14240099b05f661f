// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/live/live.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/append.h"
#include "report/report.h"
#include "report/suppress.h"
#include "report/symbols/symbols.h"

struct rb_live {
    const struct rb_live_options *options;
    struct rb_live_result *result;
    struct rb_symbolizer *symbolizer;
    struct rb_suppressions suppressions;
    json_t *seen;    // suppressions that were read: key -> true, so that each is read once
    int text, json;  // -1: not opened yet, -2: opening failed
    bool complained; // a failed write of JSON was reported, and none has succeeded since
};

static void print_error(const struct rb_live *l, const struct rb_error *e)
{
    fprintf(stderr, "railbird %s: %s\n", l->options->name, e->text);
}

static void report_failure(struct rb_live *l, const struct rb_error *e)
{
    print_error(l, e);
    l->result->failed = true;
}

static void report_file_failure(struct rb_live *l, const char *path, int status)
{
    struct rb_error e = {0};

    errno = -status;
    rb_bad_input(&e, "%s: cannot write: %m", path);
    report_failure(l, &e);
}

// Opens an output, late and once: a run without races leaves no file behind.
static int open_output(struct rb_live *l, const char *path)
{
    const int fd = rb_append_open(path);

    if (fd < 0)
        report_file_failure(l, path, fd);
    return fd < 0 ? -2 : fd;
}

// Returns false if the text is not in the file.
static bool write_json(struct rb_live *l, const char *line, size_t length)
{
    const char *path = l->options->json_file;
    int status;

    if (l->json == -1)
        l->json = open_output(l, path);
    if (l->json < 0)
        return false;
    status = rb_append(l->json, path, line, length);
    if (status < 0 && !l->complained)
        report_file_failure(l, path, status);
    l->complained = status < 0;
    return status == 0;
}

volatile sig_atomic_t rb_live_is_writing;

static int write_text(int fd, const char *text, size_t length)
{
    rb_live_is_writing = 1;
    const int status = rb_append(fd, NULL, text, length);
    rb_live_is_writing = 0;
    return status;
}

// Writes to standard error if the file for the report cannot be written.
void rb_live_say(struct rb_live *l, const char *text, size_t length)
{
    const char *path = l->options->text;
    int status = 0;

    if (path && strcmp(path, "-") != 0 && l->text == -1)
        l->text = open_output(l, path);
    if (l->text >= 0)
        status = write_text(l->text, text, length);
    if (l->text >= 0 && status == 0)
        return;
    if (status < 0)
        report_file_failure(l, path, status);
    status = write_text(STDERR_FILENO, text, length);
    if (status < 0)
        report_file_failure(l, "standard error", status);
}

void rb_live_keep(struct rb_live *l, const char *line, size_t length)
{
    if (l->options->json_file)
        write_json(l, line, length);
}

static bool show_json(struct rb_live *l, const struct rb_race *race)
{
    size_t length = 0;
    char *line = rb_report_single_json(race, &length);
    const bool written = line && write_json(l, line, length);

    free(line);
    return written;
}

static void show_text(struct rb_live *l, const struct rb_race *race)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    if (!out)
        return;
    rb_report_race_text(out, race, false, l->options->verbose);
    if (fclose(out) == 0)
        rb_live_say(l, text, length);
    free(text);
}

void rb_live_show(struct rb_live *l, const struct rb_race *race, bool with_text)
{
    bool needs_text = l->options->text && with_text;

    if (needs_text)
        show_text(l, race);
    if (l->options->json_file && !show_json(l, race) && !l->options->text && with_text)
        show_text(l, race);
    l->result->reported++;
}

// Reads a file of suppressions. As in ThreadSanitizer, a relative name that is not found is tried in the
// folder of the program.
static int read_suppressions(struct rb_live *l, const char *path, const char *program, struct rb_error *e)
{
    char *beside = NULL;
    int status;

    if (*path != '/' && program && access(path, R_OK) < 0 &&
        asprintf(&beside, "%.*s%s", (int)(rb_base_name(program) - program), program, path) < 0)
        beside = NULL;
    status = rb_suppressions_read(&l->suppressions, beside && access(beside, R_OK) == 0 ? beside : path, e);
    free(beside);
    return status;
}

// Reads suppressions once. `value` is their text, or the name of a file of them.
static void take_suppressions(struct rb_live *l, const char *value, bool is_file, const char *program)
{
    struct rb_error e = {0};
    char *key;

    if (!value || !*value || asprintf(&key, "%d:%s", is_file, value) < 0)
        return;
    if (!json_object_get(l->seen, key)) {
        json_object_set_new(l->seen, key, json_true());
        if ((is_file ? read_suppressions(l, value, program, &e)
                     : rb_suppressions_parse(&l->suppressions, value, "suppressions of the program", &e)) < 0)
            print_error(l, &e);
    }
    free(key);
}

static void take_control(struct rb_live *l, json_t *record)
{
    const json_t *control = json_object_get(record, "control");
    const char *program = rb_member_text(record, "program");

    for (size_t i = 0; i < l->options->suppression_count; i++)
        take_suppressions(l, l->options->suppressions[i], true, program);
    take_suppressions(l, rb_member_text(control, "suppressions"), true, program);
    take_suppressions(l, rb_member_text(control, "suppressions_text"), false, NULL);
    json_object_del(record, "control");
}

bool rb_live_read(struct rb_live *l, const char *line, size_t length, struct rb_race *race)
{
    struct rb_error e = {0};
    json_t *record;
    bool shown = false;

    if (rb_race_parse(line, length, "standard input", &record, &e) < 0) {
        report_failure(l, &e);
        l->result->unread++;
        return false;
    }
    take_control(l, record);
    if (rb_symbolize(l->symbolizer, record, &e) < 0)
        report_failure(l, &e); // a report without names is better than none
    if (!json_object_get(record, "time"))
        json_object_set_new(record, "time", json_real((double)time(NULL)));
    if (rb_suppressed(&l->suppressions, record)) {
        l->result->suppressed++;
    } else if (rb_race_single(race, record, &e) < 0) {
        report_failure(l, &e);
        l->result->unread++;
    } else {
        shown = true;
    }
    json_decref(record);
    return shown;
}

struct rb_live *rb_live_open(const struct rb_live_options *o, struct rb_live_result *result)
{
    static const int not_for_us[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ};
    struct rb_live *l = calloc(1, sizeof(*l));

    *result = (struct rb_live_result){0};
    for (size_t i = 0; i < RB_LENGTH(not_for_us); i++)
        signal(not_for_us[i], SIG_IGN);
    unsetenv("DEBUGINFOD_URLS"); // a running program does not wait for the network
    if (l) {
        *l = (struct rb_live){.options = o, .result = result, .text = -1, .json = -1};
        l->symbolizer = rb_symbolizer_new(NULL);
        l->seen = json_object();
        if (l->symbolizer && l->seen)
            return l;
        rb_live_close(l);
    }
    fprintf(stderr, "railbird %s: out of memory\n", o->name);
    result->failed = true;
    return NULL;
}

void rb_live_close(struct rb_live *l)
{
    if (!l)
        return;
    if (l->text > STDERR_FILENO)
        close(l->text);
    if (l->json >= 0)
        close(l->json);
    rb_suppressions_free(&l->suppressions);
    json_decref(l->seen);
    rb_symbolizer_free(l->symbolizer);
    free(l);
}

void rb_live_run(FILE *in, const struct rb_live_options *o, struct rb_live_result *result)
{
    struct rb_live *l = rb_live_open(o, result);
    struct rb_race race;
    char *line = NULL;
    size_t room = 0;
    ssize_t length;

    while (l && (length = getline(&line, &room, in)) > 0)
        if (strspn(line, " \t\r\n") < (size_t)length && rb_live_read(l, line, (size_t)length, &race)) {
            rb_live_show(l, &race, true);
            rb_race_free(&race);
        }
    free(line);
    rb_live_close(l);
}
