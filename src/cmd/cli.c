// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cmd/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lab/replay/replay.h"
#include "report/page.h"

int cli_fail(const char *command, const struct rb_error *e)
{
    fprintf(stderr, "railbird %s: %s\n", command, e->text);
    return e->fault == RB_FAULT_INTERNAL ? RB_EXIT_INTERNAL : RB_EXIT_USAGE;
}

int cli_usage(const char *command, const char *format, ...)
{
    struct rb_error e = {0}; // for its one line without control characters
    char text[sizeof(e.text)];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    rb_bad_input(&e, "%s", text);
    fprintf(stderr, "railbird %s: %s (railbird %s -h shows the options)\n", command, e.text, command);
    return RB_EXIT_USAGE;
}

int cli_unknown_engine(const char *command, const char *name)
{
    char known[128];
    size_t used = 0;

    for (int i = 0; rb_lab_engines[i]; i++)
        used += (size_t)snprintf(known + used, sizeof(known) - used, " %s", rb_lab_engines[i]->name);
    return cli_usage(command, "--engine %s: not known; expected one of:%s", name, known);
}

int cli_print_json(json_t *object, struct rb_error *e)
{
    if (!object)
        return rb_internal(e, "out of memory for JSON");
    errno = 0;
    const bool failed = json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(10)) < 0 ||
                        putchar('\n') == EOF || fflush(stdout) == EOF;
    if (failed)
        rb_internal(e, "cannot write JSON on standard output: %m");
    json_decref(object);
    return failed ? -EIO : 0;
}

json_t *cli_json_path(const char *path)
{
    char *text = rb_utf8(path);
    json_t *value = text ? json_string(text) : NULL;

    free(text);
    return value;
}

bool cli_same_file(const char *a, const char *b)
{
    struct stat x, y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool cli_whole(const char *text, uint64_t low, uint64_t high, uint64_t *value)
{
    char *end;
    double v;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *value = strtoull(text, &end, 10);
    if (errno || *end) {
        v = strtod(text, &end);
        if (*end == 'k' || *end == 'K')
            v *= 1e3, end++;
        else if (*end == 'M')
            v *= 1e6, end++;
        else if (*end == 'G')
            v *= 1e9, end++;
        if (*end || !(v >= 0 && v < 1.8e19) || v != floor(v))
            return false;
        *value = (uint64_t)v;
    }
    return *value >= low && *value <= high;
}

bool cli_share(const char *text, double *value)
{
    char *end;

    *value = strtod(text, &end);
    if (end == text)
        return false;
    if (*end == '%') {
        *value /= 100;
        end++;
    }
    return *end == 0 && *value >= 0 && *value <= 1;
}

static double read_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void cli_progress_start(struct cli_progress *p, const char *label)
{
    *p = (struct cli_progress){.label = label, .on = isatty(STDERR_FILENO), .started = read_clock()};
}

void cli_progress_step(void *progress, uint64_t done, uint64_t total)
{
    struct cli_progress *p = progress;
    const double t = read_clock(), share = total ? (double)done / (double)total : 1;

    if (!p->on || t - p->shown < 0.2)
        return;
    p->shown = t;
    fprintf(stderr, "\r\033[K%s: %3.0f %%", p->label, 100 * share);
    if (share > 0.02)
        fprintf(stderr, ", %.0f s left", (t - p->started) * (1 - share) / share);
    fflush(stderr);
}

void cli_progress_end(struct cli_progress *p)
{
    if (p->on && p->shown > 0)
        fputs("\r\033[K", stderr);
    p->on = false;
}

// ---- traces --------------------------------------------------------------------------------------------

// Opens an unnamed file for the imported form. The file disappears when it is closed, also if we are
// killed.
static int open_temporary(struct rb_error *e)
{
    const char *dir = getenv("TMPDIR");
    char name[512];
    int fd;

    if (!dir || !*dir)
        dir = "/tmp";
    fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    if (snprintf(name, sizeof(name), "%s/railbird-XXXXXX", dir) >= (int)sizeof(name))
        return rb_bad_input(e, "TMPDIR is longer than %zu characters", sizeof(name));
    fd = mkostemp(name, O_CLOEXEC);
    if (fd < 0)
        return rb_bad_input(e, "%s: cannot make a temporary file: %m; set TMPDIR to a writable folder", dir);
    unlink(name);
    return fd;
}

void cli_say_notes(const char *command, const char *path, const struct rb_std_notes *n)
{
    if (n->aliased)
        fprintf(stderr,
                "railbird %s: %s: %" PRIu64
                " fork/join targets name no thread; taken for T + the name (%s)\n",
                command, path, n->aliased, n->alias_example);
    if (n->marks)
        fprintf(stderr, "railbird %s: %s: %" PRIu64 " events without meaning for races kept as marks\n",
                command, path, n->marks);
    if (n->unmatched_release)
        fprintf(stderr,
                "railbird %s: %s: %" PRIu64 " releases without a matching acquire taken as plain releases\n",
                command, path, n->unmatched_release);
    if (n->overlapping_acquire)
        fprintf(stderr, "railbird %s: %s: %" PRIu64 " acquires of a lock held elsewhere accepted\n", command,
                path, n->overlapping_acquire);
}

static int open_text(const char *command, const char *path, bool lenient, struct rb_reader *r,
                     struct rb_error *e)
{
    struct rb_std_notes notes = {0};
    struct rb_writer w;
    const int fd = open_temporary(e);
    int status;

    if (fd < 0)
        return -1;
    status = rb_writer_open(&w, "temporary file (TMPDIR says where)", fd, NULL, e);
    if (status == 0)
        status = rb_std_import(path, &w, lenient, &notes, e);
    if (status < 0) // the writer has closed the file
        return status;
    cli_say_notes(command, path, &notes);
    return rb_reader_open_fd(r, fd, path, e);
}

// Returns true if the file begins with our magic. An unreadable file fails later, when it is opened.
static bool is_rbt(const char *path)
{
    char magic[8];
    struct stat st;
    bool yes = false;
    const int fd = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? open(path, O_RDONLY | O_CLOEXEC) : -1;

    if (fd >= 0) {
        yes = read(fd, magic, sizeof(magic)) == (ssize_t)sizeof(magic) &&
              !memcmp(magic, RBT_MAGIC, sizeof(magic));
        close(fd);
    }
    return yes;
}

int cli_open_trace(const char *command, const char *path, bool lenient, struct rb_reader *r,
                   struct rb_error *e)
{
    const size_t n = strlen(path);

    if (!is_rbt(path) && !(n > 4 && !strcmp(path + n - 4, ".rbt")))
        return open_text(command, path, lenient, r, e);
    const int status = rb_reader_open(r, path, e);
    if (status == 0 && r->recovered)
        fprintf(stderr,
                "railbird %s: %s: the writer did not finish; %" PRIu64 " events recovered, %" PRIu64
                " bytes behind them not readable\n",
                command, path, r->header.events, r->lost_bytes);
    return status;
}
