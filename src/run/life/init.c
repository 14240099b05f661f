// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Start and end of the runtime in a process. It starts when the first instrumented module does
// (__tsan_init), or when it is loaded and finds one. Without any it stays off: every interceptor passes
// through.
#include "run/core/upcalls.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/pages.h"
#include "inproc/host.h"
#include "inproc/modules.h"
#include "inproc/tool.h"
#include "run/intercept/intercept.h"
#include "run/life/parts.h"
#include "run/report/race.h"

struct rb_process rb_process;
RB_EXPORT const char __railbird_runtime[] =
    "railbird runtime " RB_VERSION; // by which `railbird run` recognises a program of ours

static struct rb_sampler_spec sampler;
static bool started, finished;

RB_WEAK const char *__tsan_default_options(void);
RB_WEAK const char *__tsan_default_options(void)
{
    return "";
}

RB_WEAK const char *__railbird_default_options(void);
RB_WEAK const char *__railbird_default_options(void)
{
    return "";
}

static const char *find_expected(void *context, enum rb_option option, const char *value)
{
    static struct rb_error error;
    struct rb_sampler_spec spec;

    (void)context;
    if (option == RB_OPT_engine)
        return rb_engine_find(value) ? NULL : "one of: so su st fasttrack djit";
    if (option != RB_OPT_sampler || rb_sampler_parse(value, &spec, &error) == 0)
        return NULL;
    return error.text;
}

static const char *read_env(const char *variable)
{
    const char *value = rb_env(variable);

    return value ? value : "";
}

#define NOT_SAID         UINT64_MAX
#define EXIT_WAIT_OF_ALL 200u // milliseconds: tests are short, and their threads begin late on a busy machine

// Makes the path absolute, as the program may change its folder before the first report. A name that would
// become too long stays.
static void make_absolute(char path[RB_OPTION_PATH])
{
    char folder[RB_OPTION_PATH];
    size_t n = 0;

    if (!path[0] || path[0] == '/')
        return;
    const long got = syscall(SYS_getcwd, folder, sizeof(folder));
    while (path[n])
        n++;
    if (got <= 1 || folder[0] != '/' || (size_t)got + n + 1 > RB_OPTION_PATH)
        return;
    const size_t before = (size_t)got; // the NUL becomes a slash
    for (size_t i = n + 1; i-- > 0;)
        path[before + i] = path[i];
    for (size_t i = 0; i + 1 < before; i++)
        path[i] = folder[i];
    path[before - 1] = '/';
}

static void read_options(void)
{
    const struct rb_options_host host = {NULL, rb_complain, find_expected};
    struct rb_error error;
    unsigned wrong = 0;

    rb_options_init(&rb_options);
    rb_options.atexit_sleep_ms = NOT_SAID;
    wrong += rb_options_parse(&rb_options, __railbird_default_options(), "__railbird_default_options", &host);
    wrong += rb_options_parse(&rb_options, read_env("RAILBIRD_OPTIONS"), "RAILBIRD_OPTIONS", &host);
    wrong += rb_options_parse_tsan(&rb_options, read_env("TSAN_OPTIONS"), &host);
    wrong += rb_options_parse_tsan(&rb_options, __tsan_default_options(), &host);
    if (wrong && rb_options.strict)
        syscall(SYS_exit_group, 2);
    if (!rb_options.report_bugs) {
        rb_options.report = false;
        rb_options.report_json[0] = 0;
        rb_options.exitcode = 0;
    }
    make_absolute(rb_options.report_json);
    make_absolute(rb_options.log_path);
    if (rb_sampler_parse(rb_options.sampler, &sampler, &error))
        rb_sampler_parse("adaptive", &sampler, &error);
    if (rb_options.atexit_sleep_ms == NOT_SAID)
        rb_options.atexit_sleep_ms = sampler.ops == &rb_sample_all ? EXIT_WAIT_OF_ALL : 0;
}

static uint64_t choose_seed(void)
{
    struct timespec now;

    if (rb_options.seed)
        return rb_options.seed;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return rb_mix64((uint64_t)now.tv_nsec + ((uint64_t)now.tv_sec << 30) + ((uint64_t)rb_process.pid << 48));
}

// Beside memory=, for fixed tables and the states of threads.
#define FIXED_BYTES ((size_t)8 << 20)
#define LEAST_BYTES ((size_t)1 << 20)
#define ROOM_TIMES  4u

// Returns the memory to use: `wanted`, or less where address space is limited (ulimit -v, ulimit -d), so
// that three quarters of the rest stay free for the program. 0: there is too little for both, and nothing
// is mapped.
static size_t fit_memory(size_t wanted)
{
    for (size_t memory = wanted; memory >= LEAST_BYTES; memory /= 2) {
        const size_t room = ROOM_TIMES * (memory + FIXED_BYTES);
        void *map = rb_pages_map(room);
        if (map) {
            munmap(map, room);
            return memory;
        }
    }
    return 0;
}

// 1, on a page that the kernel clears in a fork's child. A child of vfork shares it. NULL: there is no such
// page.
static uint32_t *original;

// Returns true in a child that came by a bare instruction, and switches the runtime off in it: its locks
// stay locked.
static bool is_fork_copy(void)
{
    if (!original || rb_load_relaxed(original))
        return false;
    rb_process.on = false;
    return true;
}

void rb_watch_copies(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED)
        return;
    if (madvise(page, 4096, MADV_WIPEONFORK)) {
        munmap(page, 4096);
        return;
    }
    original = page;
    *original = 1;
    rb_spin_is_copy = is_fork_copy;
}

static void say_unwatched(const char *why)
{
    char line[256];
    struct rb_text t;

    rb_text_init(&t, line, sizeof(line) - 1);
    rb_put(&t, "the program runs unwatched: ");
    rb_put(&t, why);
    *t.at = 0;
    rb_complain(NULL, line);
}

// Returns the reason why the program cannot be tracked; NULL: there is none.
static const char *find_reason_off(void)
{
    // The caller of a program with more rights may not learn its addresses.
    if (rb_is_secure())
        return "the program has rights that its caller may lack (setuid, setgid, capabilities)";
    if (!rb_real_is_behind())
        return "libc is loaded before the runtime, which sees no call of it then; link with 'railbird cc', "
               "or start it by 'railbird run'";
    return NULL;
}

// Starts all parts. Returns the reason if they cannot be made.
static const char *start_tracking(void)
{
    const struct rb_start start = {fit_memory(rb_options.memory), &sampler, choose_seed()};

    rb_options.memory = start.memory;
    if (!start.memory || !rb_parts_start(&start))
        return "there is not enough memory for the runtime; set memory= or ulimit -v";
    rb_process.on = true;
    rb_self_make();
    return NULL;
}

void rb_init(char *const *environment)
{
    const int saved = errno;

    if (started)
        return;
    started = true;
    rb_process.pid = (uint32_t)syscall(SYS_getpid);
    rb_real_init();
    const char *off = find_reason_off();
    if (!off) {
        rb_program_path(); // not available once the main thread has ended
        rb_env_given(environment);
        read_options();
        off = start_tracking();
    }
    if (off)
        say_unwatched(off);
    errno = saved;
}

// Starts the runtime. gcc puts this into .preinit_array, and the loader passes those functions the
// arguments of main. Instrumented modules call it without arguments: then the registers hold anything, or
// still the same.
RB_EXPORT void __tsan_init(int argc, char **argv, char **environment);
RB_EXPORT void __tsan_init(int argc, char **argv, char **environment)
{
    const bool given = argc >= 0 && argv && environment == argv + argc + 1;

    rb_init(given ? environment : NULL);
    rb_libraries_came();
}

// Makes this process, a child of fork, one of its own; the runtime is off until its parts have restarted.
// Returns true if the child is tracked.
static bool mark_child(void)
{
    if (!rb_process.on)
        return false;
    rb_process.child = true;
    if (original)
        *original = 1;
    rb_process.on = false; // parts unmap the states that interceptors read
    rb_self_tls = NULL;
    // In a sandbox a new start takes system calls that the child may not make.
    rb_process.pid = rb_host.sandboxed ? 0 : (uint32_t)syscall(SYS_getpid);
    return !rb_host.sandboxed;
}

void rb_init_after_fork(void)
{
    const bool on = mark_child();

    rb_parts_restart(on);
    rb_process.on = on;
}

bool rb_is_our_process(void)
{
    if (rb_host.sandboxed) // the kernel may not be asked
        return rb_process.pid != 0;
    const long now = syscall(SYS_getpid);
    return now == (long)rb_process.pid || now < 0; // an earlier filter may refuse the call
}

// The program's function that may change the verdict.
extern int __tsan_on_finalize(int failed) __attribute__((weak));

int rb_finish(int status)
{
    if (!started || (!rb_process.on && !rb_races_are_found()) || !rb_is_our_process() ||
        rb_exchange_relaxed(&finished, true))
        return status;
    rb_parts_finish();
    bool failed = rb_process.races > (rb_options.partial == RB_PARTIAL_LIST ? rb_process.partial : 0);
    if (__tsan_on_finalize)
        failed = __tsan_on_finalize(failed) != 0;
    return failed && rb_options.exitcode ? (int)rb_options.exitcode : status;
}

void rb_halt(void)
{
    const int status = rb_options.exitcode ? (int)rb_options.exitcode : 66;

    rb_finish(status);
    if (rb_death_callback)
        rb_death_callback();
    syscall(SYS_exit_group, status);
    __builtin_unreachable();
}
