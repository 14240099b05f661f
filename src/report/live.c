#include "report/live.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/report.h"
#include "report/suppress.h"
#include "report/symbolize.h"

struct live {
    const struct rb_live_options *options;
    const char *name;
    struct rb_live_result *result;
    struct rb_symbolizer *symbolizer;
    struct rb_suppressions suppressions;
    json_t *seen; // suppressions taken in: what -> true, so that each is read once
    int text, json;
};

static void say(const struct live *l, const struct rb_error *e)
{
    fprintf(stderr, "railbird %s: %s\n", l->name, e->text);
}

static void complain(struct live *l, const struct rb_error *e)
{
    say(l, e);
    l->result->failed = true;
}

// Opened late and once: a run without races leaves no file behind.
static int open_output(struct live *l, const char *path)
{
    struct rb_error e = {0};
    const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

    if (fd < 0) {
        rb_bad_input(&e, "%s: cannot write: %m", path);
        complain(l, &e);
    }
    return fd;
}

// In one piece if the system takes it in one.
static void write_out(struct live *l, int fd, const char *path, const char *text, size_t length)
{
    struct rb_error e = {0};

    while (length) {
        const ssize_t n = write(fd, text, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            rb_bad_input(&e, "%s: cannot write: %m", path);
            complain(l, &e);
            return;
        }
        text += n;
        length -= (size_t)n;
    }
}

static void put_text(struct live *l, const struct rb_race *race)
{
    const char *path = l->options->text;
    const bool to_stderr = path && !strcmp(path, "-");
    char *text = NULL;
    size_t length;
    FILE *out;

    if (!path)
        return;
    if (l->text < 0)
        l->text = to_stderr ? STDERR_FILENO : open_output(l, path);
    if (l->text < 0)
        l->text = STDERR_FILENO; // when the file cannot be had, people still see the report
    out = open_memstream(&text, &length);
    if (!out)
        return;
    rb_report_race_text(out, race, false, false);
    if (fclose(out) == 0)
        write_out(l, l->text, l->text == STDERR_FILENO ? "standard error" : path, text, length);
    free(text);
}

static void put_json(struct live *l, const struct rb_race *race)
{
    const char *path = l->options->json_file;
    size_t length = 0;
    char *line;

    if (!path)
        return;
    if (l->json == -1 && (l->json = open_output(l, path)) < 0)
        l->json = -2; // said once
    line = l->json >= 0 ? rb_report_single_json(race, &length) : NULL;
    if (line)
        write_out(l, l->json, path, line, length);
    free(line);
}

// Like ThreadSanitizer, a relative name that is not found is tried beside the program.
static int read_suppressions(struct live *l, const char *path, const char *program, struct rb_error *e)
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

// `value` is suppressions, or the name of a file of them.
static void take_suppressions(struct live *l, const char *value, bool is_file, const char *program)
{
    struct rb_error e = {0};
    char *key;

    if (!value || !*value || asprintf(&key, "%d:%s", is_file, value) < 0)
        return;
    if (!json_object_get(l->seen, key)) {
        json_object_set_new(l->seen, key, json_true());
        if ((is_file ? read_suppressions(l, value, program, &e)
                     : rb_suppressions_parse(&l->suppressions, value, "suppressions of the program", &e)) < 0)
            say(l, &e);
    }
    free(key);
}

static void take_control(struct live *l, json_t *record)
{
    const json_t *control = json_object_get(record, "control");
    const char *program = rb_member_text(record, "program");

    for (size_t i = 0; i < l->options->suppression_count; i++)
        take_suppressions(l, l->options->suppressions[i], true, program);
    take_suppressions(l, rb_member_text(control, "suppressions"), true, program);
    take_suppressions(l, rb_member_text(control, "suppressions_text"), false, NULL);
    json_object_del(record, "control");
}

static void take_line(struct live *l, const char *line, size_t length)
{
    struct rb_error e = {0};
    struct rb_race race;
    json_t *record;

    if (rb_race_parse(line, length, "standard input", &record, &e) < 0) {
        complain(l, &e);
        return;
    }
    take_control(l, record);
    if (rb_symbolize(l->symbolizer, record, &e) < 0)
        complain(l, &e); // without names is better than not at all
    if (rb_suppressed(&l->suppressions, record)) {
        l->result->suppressed++;
    } else if (rb_race_single(&race, record, &e) < 0) {
        complain(l, &e);
    } else {
        put_text(l, &race);
        put_json(l, &race);
        l->result->reported++;
        rb_race_free(&race);
    }
    json_decref(record);
}

void rb_live_run(FILE *in, const struct rb_live_options *o, const char *name, struct rb_live_result *result)
{
    static const int not_for_us[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE};
    struct live l = {.options = o, .name = name, .result = result, .text = -1, .json = -1};
    struct rb_error e = {0};
    char *line = NULL;
    size_t room = 0;
    ssize_t length;

    *result = (struct rb_live_result){0};
    for (size_t i = 0; i < RB_LENGTH(not_for_us); i++)
        signal(not_for_us[i], SIG_IGN);
    unsetenv("DEBUGINFOD_URLS"); // a running program does not wait for the network
    l.symbolizer = rb_symbolizer_new(NULL);
    l.seen = json_object();
    if (!l.symbolizer || !l.seen) {
        rb_internal(&e, "out of memory");
        complain(&l, &e);
        goto done;
    }
    while ((length = getline(&line, &room, in)) > 0)
        if (strspn(line, " \t\r\n") < (size_t)length)
            take_line(&l, line, (size_t)length);
done:
    free(line);
    if (l.text > STDERR_FILENO)
        close(l.text);
    if (l.json >= 0)
        close(l.json);
    rb_suppressions_free(&l.suppressions);
    json_decref(l.seen);
    rb_symbolizer_free(l.symbolizer);
}
