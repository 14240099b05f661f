// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "inproc/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/append.h"
#include "base/pages.h"
#include "inproc/host.h"
#include "inproc/traps.h"

#define STACK_BYTES 65536u
#define MOST_ENV    RB_TOOL_ENVIRONMENT
#define PATIENCE_MS 30000u

extern char **environ;
int rb_report_fd = 2;

RB_WEAK const char *__tsan_default_suppressions(void);
RB_WEAK const char *__tsan_default_suppressions(void)
{
    return "";
}

RB_WEAK const char *__railbird_default_suppressions(void);
RB_WEAK const char *__railbird_default_suppressions(void)
{
    return "";
}

void rb_complain(void *context, const char *line)
{
    char text[512];
    struct rb_text t;

    (void)context;
    rb_text_init(&t, text, sizeof(text) - 1);
    rb_put(&t, "Railbird: ");
    rb_put(&t, line);
    t.end++;
    rb_put_char(&t, '\n');
    rb_write_all(2, text, (size_t)(t.at - text));
}

void rb_put_control(struct rb_text *t)
{
    const char *tsan = __tsan_default_suppressions(), *own = __railbird_default_suppressions();

    if ((!tsan || !*tsan) && (!own || !*own))
        return;
    rb_put(t, ",\"control\":{\"suppressions_text\":");
    char *start = t->at;
    rb_put_string(t, tsan ? tsan : "");
    if (own && *own) {
        if (t->at > start)
            t->at--; // the closing quote: both are one string
        rb_put(t, "\\n");
        char *join = t->at;
        rb_put_string(t, own);
        for (char *c = join; c + 1 < t->at; c++) // without the second opening quote
            *c = c[1];
        t->at--;
    }
    rb_put_char(t, '}');
}

// ---- writing -------------------------------------------------------------------------------------------

bool rb_write_all(int fd, const char *text, size_t bytes)
{
    size_t written = 0;

    return (rb_host.sandboxed || rb_file_has_room(fd, bytes)) &&
           rb_write_text(fd, text, bytes, &written) == 0;
}

static void append_text(const char *path, bool lines, const char *text, size_t bytes)
{
    const int fd = rb_append_open(path);

    if (fd < 0)
        return;
    rb_append(fd, lines ? path : NULL, text, bytes);
    syscall(SYS_close, fd);
}

// Puts together the file of log_path: one for each process, as in TSan.
const char *rb_log_file(char *room, size_t bytes)
{
    struct rb_text t;

    rb_text_init(&t, room, bytes - 1);
    rb_put(&t, rb_options.log_path);
    rb_put_char(&t, '.');
    rb_put_number(&t, (uint64_t)getpid());
    *t.at = 0;
    return room;
}

void rb_say(const char *text, size_t bytes)
{
    char path[4200];

    if (rb_options.log_path[0] && !rb_host.sandboxed)
        append_text(rb_log_file(path, sizeof(path)), false, text, bytes);
    else
        rb_write_all(rb_report_fd, text, bytes);
}

void rb_tool_keep(const char *record, size_t bytes)
{
    if (rb_options.report_json[0] && !rb_host.sandboxed)
        append_text(rb_options.report_json, true, record, bytes);
}

// ---- the cache of tables -------------------------------------------------------------------------------

static char table_cache[4100]; // "" if there is none

void rb_table_cache_init(void)
{
    const char *told = rb_env("XDG_CACHE_HOME"), *home = rb_env("HOME");
    struct rb_text t;

    rb_text_init(&t, table_cache, sizeof(table_cache) - 1);
    if (told && told[0] == '/') {
        rb_put(&t, told);
    } else if (home && home[0]) {
        rb_put(&t, home);
        rb_put(&t, "/.cache");
    }
    *(t.full ? table_cache : t.at) = 0;
}

bool rb_table_path(const char *build_id, const char *suffix, char *out, size_t room)
{
    struct rb_text t;

    rb_text_init(&t, out, room - 1);
    rb_put(&t, table_cache);
    rb_put(&t, "/railbird/code/");
    for (unsigned i = 0; build_id[i] && i < 40; i++) // the first 20 bytes of it
        rb_put_char(&t, build_id[i]);
    rb_put(&t, suffix);
    *t.at = 0;
    return !t.full && table_cache[0];
}

unsigned rb_build_id_bytes(const char *build_id, uint8_t *out, unsigned most)
{
    unsigned n = 0;

    for (const char *hex = build_id; hex[0] && hex[1] && n < most; hex += 2) {
        const int a = hex[0] <= '9' ? hex[0] - '0' : hex[0] - 'a' + 10,
                  b = hex[1] <= '9' ? hex[1] - '0' : hex[1] - 'a' + 10;
        out[n++] = (uint8_t)(a << 4 | b);
    }
    return n;
}

// ---- the process ---------------------------------------------------------------------------------------

// Two processes: the end of a child that execs is announced to the program. So the tool is a
// child of a process in the middle that never execs. That process is created without an exit signal, so it
// ends unnoticed.
struct launch {
    const char *path;
    char *const *arguments;
    char *const *environment;
    int input, output; // output: -1 for the program's own
    char *stack;       // of the tool until it execs
    volatile int tool; // its process
};

// Runs in the tool's process, which shares our memory until it execs: system calls alone.
static int exec_tool(void *given)
{
    const struct launch *l = given;

    // With the program's own input it would find no record.
    if ((rb_report_fd == 2 || syscall(SYS_dup3, rb_report_fd, 2, 0) >= 0) &&
        syscall(SYS_dup3, l->input, 0, 0) >= 0 && (l->output < 0 || syscall(SYS_dup3, l->output, 1, 0) >= 0))
        syscall(SYS_execve, l->path, l->arguments, l->environment);
    syscall(SYS_exit, 127);
    return 127;
}

// Runs in the process in the middle, which shares our memory all the time.
static int run_middle(void *given)
{
    static const struct rb_kernel_action standard;
    struct launch *l = given;
    int status = 0;

    // Its own copy: if the program ignores SIGCHLD, there would be no child left to wait for.
    syscall(SYS_rt_sigaction, SIGCHLD, &standard, NULL, 8);
    l->tool = clone(exec_tool, l->stack, CLONE_VM | CLONE_VFORK | SIGCHLD, l);
    if (l->tool < 0 || syscall(SYS_wait4, l->tool, &status, 0, NULL) != l->tool || !WIFEXITED(status))
        syscall(SYS_exit, 127);
    syscall(SYS_exit, WEXITSTATUS(status));
    return 127;
}

void rb_tool_environment(char **out)
{
    static const char *const gone[] = {"LD_PRELOAD=", "RAILBIRD_OPTIONS=", "TSAN_OPTIONS=",
                                       "LD_LIBRARY_PATH="};
    unsigned n = 0;

    for (char **e = environ; e && *e && n + 1 < MOST_ENV; e++) {
        bool keep = true;
        for (unsigned i = 0; i < RB_LENGTH(gone); i++) {
            const char *a = gone[i], *b = *e;
            while (*a && *a == *b)
                a++, b++;
            keep = keep && *a;
        }
        if (keep)
            out[n++] = *e;
    }
    out[n] = NULL;
}

const char *rb_tool_path(void)
{
    static const char *const places[] = {RB_TOOL_PLACES};
    const char *told = rb_env("RAILBIRD_TOOL");

    if (told && *told)
        return told;
    for (unsigned i = 0; i < RB_LENGTH(places); i++)
        if (syscall(SYS_access, places[i], X_OK) == 0)
            return places[i];
    return NULL;
}

// Waits for the tool, but not for ever: a program must never hang for a report.
static int wait_for(pid_t middle, const struct launch *l)
{
    const struct timespec ms = {0, 1000000};
    int status = -1;

    for (unsigned waited = 0;; waited++) {
        const long r = syscall(SYS_wait4, middle, &status, WNOHANG | __WCLONE, NULL);
        if (r == middle)
            return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        if (r < 0 && errno != EINTR)
            return -1;
        if (waited == PATIENCE_MS && l->tool > 0)
            syscall(SYS_kill, l->tool, SIGKILL); // and the one in the middle ends by itself
        syscall(SYS_nanosleep, &ms, NULL);       // not libc's, where a cancelled thread would end
    }
}

// Returns a file in memory with the record. It is not one of the standard descriptors, which a program may
// have closed and the tool gets anew. Returns -1 if it cannot hold the whole record (no descriptor left,
// RLIMIT_FSIZE).
static int memory_file(const char *record, size_t bytes)
{
    const int made = (int)syscall(SYS_memfd_create, "railbird-report", 1 /* MFD_CLOEXEC */);
    const int fd = made >= 0 && made < 3 ? (int)syscall(SYS_fcntl, made, F_DUPFD_CLOEXEC, 3) : made;

    if (made >= 0 && made < 3)
        syscall(SYS_close, made);
    if (fd < 0)
        return -1;
    if (!rb_write_all(fd, record, bytes)) {
        syscall(SYS_close, fd);
        return -1;
    }
    syscall(SYS_lseek, fd, 0, SEEK_SET);
    return fd;
}

// Runs the tool with these words and this standard input. Returns its exit status, or -1.
static int run_words(const char *path, const char *const *words, char *const *environment, char *stack,
                     int input, int output)
{
    struct launch l = {path, (char *const *)(uintptr_t)words, environment, input, output, stack + STACK_BYTES,
                       0};
    sigset_t all, before;

    sigfillset(&all);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, 8); // the child must not run a handler of ours
    const int middle = clone(run_middle, stack + 2 * STACK_BYTES, CLONE_VM, &l);
    const int status = middle < 0 ? -1 : wait_for(middle, &l);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, 8);
    return status;
}

static enum rb_tool_answer run_tool(const char *path, const char *record, size_t bytes, char **environment,
                                    char *stack)
{
    char log[4200];
    const char *arguments[12] = {path, "report", "--live"};
    unsigned n = 3;

    if (rb_options.report) {
        arguments[n++] = "--text";
        arguments[n++] = rb_options.log_path[0] ? rb_log_file(log, sizeof(log)) : "-";
    }
    if (rb_options.report_json[0]) {
        arguments[n++] = "--json-file";
        arguments[n++] = rb_options.report_json;
    }
    if (rb_options.suppressions[0]) {
        arguments[n++] = "--suppressions";
        arguments[n++] = rb_options.suppressions;
    }
    const int input = memory_file(record, bytes);
    if (input < 0)
        return RB_TOOL_MISSING;
    const int status = run_words(path, arguments, environment, stack, input, -1);
    syscall(SYS_close, input);
    if (status == 0 || status == 1) // 1: printed, but not written to a file
        return RB_TOOL_REPORTED;
    return status == 3 ? RB_TOOL_SUPPRESSED : RB_TOOL_MISSING; // 4: no record
}

enum rb_tool_answer rb_tool_report(const char *record, size_t bytes)
{
    const char *path = rb_host.sandboxed ? NULL : rb_tool_path();
    const size_t room = 2 * STACK_BYTES + MOST_ENV * sizeof(char *);
    enum rb_tool_answer answer;

    if (!path)
        return RB_TOOL_MISSING;
    if (!rb_options.report && !rb_options.report_json[0])
        return RB_TOOL_REPORTED;
    char *map = rb_pages_map(room);
    if (!map)
        return RB_TOOL_MISSING;
    rb_tool_environment((char **)(void *)(map + 2 * STACK_BYTES));
    answer = run_tool(path, record, bytes, (char **)(void *)(map + 2 * STACK_BYTES), map);
    syscall(SYS_munmap, map, room);
    return answer;
}

int rb_tool_run(const char *const *words, const char *input, size_t bytes)
{
    const char *path = rb_tool_path(), *all[8] = {path};
    const size_t room = 2 * STACK_BYTES + MOST_ENV * sizeof(char *);
    unsigned n = 1;

    for (; path && *words && n + 1 < RB_LENGTH(all); words++)
        all[n++] = *words;
    char *map = path ? rb_pages_map(room) : NULL;
    if (!map)
        return -1;
    const int made = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC, 0);
    const int nothing = made < 0 ? -1 : (int)syscall(SYS_fcntl, made, F_DUPFD_CLOEXEC, 3);
    const int in = memory_file(input, bytes);
    char **environment = (char **)(void *)(map + 2 * STACK_BYTES);
    rb_tool_environment(environment);
    const int status = nothing < 0 || in < 0 ? -1 : run_words(path, all, environment, map, in, nothing);
    if (made >= 0)
        syscall(SYS_close, made);
    if (nothing >= 0)
        syscall(SYS_close, nothing);
    if (in >= 0)
        syscall(SYS_close, in);
    syscall(SYS_munmap, map, room);
    return status;
}
