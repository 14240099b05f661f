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

#include "base/append.h"
#include "base/pages.h"
#include "inproc/host.h"
#include "inproc/tool.h"
#include "run/access/access.h"
#include "run/access/history.h"
#include "run/core/footprint.h"
#include "run/core/ticker.h"
#include "run/intercept/heap.h"
#include "run/intercept/intercept.h"
#include "run/intercept/lifecycle.h"
#include "run/record/record.h"
#include "run/report/race.h"
#include "run/sampler/sampling.h"
#include "run/sites/sites.h"
#include "run/sync/objects.h"
#include "run/sync/thread.h"
#include "run/watchpoint/watchpoints.h"

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

// Makes the JSON file: a run without a race leaves an empty one, which shows that there was a run.
static void make_json_file(void)
{
    const int fd = rb_options.report_json[0] ? rb_append_open(rb_options.report_json) : -1;

    if (fd >= 0)
        syscall(SYS_close, fd);
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

// Makes the tables. memory= is divided: half of it for the history, an eighth for stacks, a sixteenth for
// heap blocks, the rest for clocks and objects.
static bool make_tables(void)
{
    const size_t memory = rb_options.memory = fit_memory(rb_options.memory);

    if (!memory)
        return false;
    rb_process.ops = rb_engine_find(rb_options.engine);
    if (!rb_process.ops)
        rb_process.ops = &rb_so;
    rb_process.stack_depth = (uint32_t)(rb_options.stack_depth < 64 ? rb_options.stack_depth : 64);
    rb_process.generation = 2;
    rb_arena_init(&rb_process.arena, memory / 16 * 5);
    rb_arena_init(&rb_host.kept, (size_t)64 << 20);
    rb_footprint_arena(&rb_sampling_process.arena);
    rb_footprint_table(rb_unwind_slots, sizeof(rb_unwind_slots));
    return rb_accesses_init(memory / 2) == 0 && rb_stack_init(memory / 8) == 0 &&
           (sampler.ops == &rb_sample_none || rb_heap_init(memory / 16) == 0) && rb_objects_init() == 0 &&
           rb_threads_init() == 0 && rb_race_reports_init() == 0 && rb_sites_init(memory) == 0 &&
           rb_sampling_init(&sampler, choose_seed()) == 0;
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

static void watch_for_copies(void)
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

void rb_init(char *const *environment)
{
    const int saved = errno;

    if (started)
        return;
    started = true;
    rb_process.pid = (uint32_t)syscall(SYS_getpid);
    rb_real_init();
    // The caller of a program with more rights may not learn its addresses.
    const char *off = rb_is_secure() ? "the program has rights that its caller may lack (setuid, setgid, "
                                       "capabilities)"
                      : !rb_real_is_behind()
                          ? "libc is loaded before the runtime, which sees no call of it then; link with "
                            "'railbird cc', or start it by 'railbird run'"
                          : NULL;
    if (off) {
        say_unwatched(off);
        errno = saved;
        return;
    }
    rb_program_path(); // not available once the main thread has ended
    rb_env_given(environment);
    read_options();
    if (make_tables()) {
        watch_for_copies();
        rb_watch_fork(); // before it is on: the registration is a step of the program's
        rb_watch_exit();
        rb_watch_quick_exit();
        make_json_file();
        rb_process.on = true;
        rb_fences_on = rb_process.take_all;
        if (rb_options.watch && !rb_process.by_cost && !rb_process.collides)
            rb_watchpoints_refused("only with sampler=adaptive");
        if (rb_options.record[0])
            rb_record_start(rb_options.record);
        if (sampler.ops == &rb_sample_none)
            rb_process.paused = !rb_options.record[0];
        rb_process.quick = rb_process.ops->knows && !rb_process.windows && !rb_options.record[0];
        rb_self_make();
    } else {
        say_unwatched("there is not enough memory for the runtime; set memory= or ulimit -v");
    }
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

void rb_init_after_fork(void)
{
    if (!rb_process.on)
        return;
    rb_process.child = true;
    if (original)
        *original = 1;
    rb_process.on = false; // the next calls unmap the states that interceptors read
    rb_self_tls = NULL;
    if (rb_host.sandboxed) { // a new start takes system calls that the child may not make
        rb_process.pid = 0;
        return;
    }
    rb_process.pid = (uint32_t)syscall(SYS_getpid);
    rb_threads_reset_after_fork();
    rb_sites_reset_after_fork();
    rb_watchpoints_reset_after_fork();
    rb_sampling_reset_after_fork();
    rb_arena_destroy(&rb_process.arena);
    rb_process.arena.limit = rb_options.memory / 16 * 5;
    rb_process.width = 0;
    rb_process.generation = (rb_process.generation | 1) + 1;
    rb_process.lost_edges = rb_process.races = rb_process.suppressed = 0;
    rb_objects_reset_after_fork();
    rb_barriers_reset_after_fork();
    rb_accesses_reset_after_fork();
    rb_stack_reset();
    rb_races_reset_after_fork();
    rb_record_stop_after_fork();
    rb_process.on = true;
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
    struct rb_self *me = rb_self_tls;

    if (!started || (!rb_process.on && !rb_races_are_found()) || !rb_is_our_process() ||
        rb_exchange_relaxed(&finished, true))
        return status;
    if (me && !me->busy) {
        me->busy = 1;
        rb_sampling_settle(me);
        me->busy = 0;
    }
    rb_ticker_stop();
    rb_watchpoints_stop(NULL);
    rb_record_finish();
    rb_races_finish();
    rb_stats_print();
    rb_stats_say_dropped();
    bool failed = rb_process.races != 0;
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
