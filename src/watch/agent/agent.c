// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The agent's life in a process: its settings, its start before the second thread, fork, and the end.
//
// A program with one thread is left alone: nothing is opened, no byte is written, no thread is made.
#include "watch/agent/agent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/ticks.h"
#include "inproc/host.h"
#include "inproc/modules.h"
#include "inproc/tool.h"

// Requirements of the runtime's files that are built into the agent.

struct rb_agent_settings rb_agent = {
    .mode = RB_MODE_BOTH, .per_second = 100, .window_us = 15000, .delay_us = 1500, .budget = 20000};
struct rb_agent_counts rb_counts;
bool rb_agent_on;
pid_t rb_agent_process;
const char *rb_agent_missing;
uint64_t rb_agent_seed;

static bool begun, finished, child, filtered;
static uint64_t ticks_per_ms = 2000000;

// ---- clocks --------------------------------------------------------------------------------------------

uint64_t rb_agent_clock(int which)
{
    struct timespec t = {0, 0};

    clock_gettime((clockid_t)which, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t rb_agent_ns(uint64_t ticks)
{
    return (uint64_t)((unsigned __int128)ticks * 1000000u / ticks_per_ms);
}

uint64_t rb_agent_ticks_of_us(uint64_t us)
{
    return us * ticks_per_ms / 1000u;
}

static void measure_ticks(void)
{
    const uint64_t from = rb_agent_clock(CLOCK_MONOTONIC), ticks = rb_arch_ticks();
    uint64_t to;

    do
        to = rb_agent_clock(CLOCK_MONOTONIC);
    while (to - from < 500000);
    const uint64_t measured = (rb_arch_ticks() - ticks) * 1000000u / (to - from);
    if (measured)
        ticks_per_ms = measured;
}

// ---- settings ------------------------------------------------------------------------------------------

static bool take_key(const char **text, const char *key)
{
    const char *t = *text;

    while (*key && *t == *key)
        t++, key++;
    if (*key || *t != '=')
        return false;
    *text = t + 1;
    return true;
}

static uint64_t parse_number(const char *t)
{
    uint64_t n = 0;

    for (; *t >= '0' && *t <= '9'; t++)
        n = n * 10 + (uint64_t)(*t - '0');
    return n;
}

static void add_module(const char *t)
{
    char *at = rb_agent.modules, *end = at + sizeof(rb_agent.modules) - 2;

    while (*at)
        at += __builtin_strlen(at) + 1;
    for (; *t && *t != '\n' && at < end; t++)
        *at++ = *t;
    *at = 0;
}

// Reads RAILBIRD_WATCH: lines KEY=VALUE, written and checked by `railbird watch`.
static void read_settings(const char *t)
{
    while (t && *t) {
        if (take_key(&t, "mode"))
            rb_agent.mode = t[0] == 'b' ? RB_MODE_BOTH : t[1] == 'l' ? RB_MODE_CLOCK : RB_MODE_COLLIDE;
        else if (take_key(&t, "per_second"))
            rb_agent.per_second = (uint32_t)parse_number(t);
        else if (take_key(&t, "rate"))
            rb_agent.rate = parse_number(t);
        else if (take_key(&t, "window"))
            rb_agent.window_us = parse_number(t);
        else if (take_key(&t, "delay"))
            rb_agent.delay_us = parse_number(t);
        else if (take_key(&t, "budget"))
            rb_agent.budget = parse_number(t);
        else if (take_key(&t, "candidates"))
            rb_agent.candidates = parse_number(t) != 0;
        else if (take_key(&t, "no_atomics"))
            rb_agent.no_atomics = parse_number(t) != 0;
        else if (take_key(&t, "module"))
            add_module(t);
        while (*t && *t != '\n')
            t++;
        t += *t == '\n';
    }
}

// ---- start ---------------------------------------------------------------------------------------------

static void refuse_watch(const char *why)
{
    char line[320];
    struct rb_text t;

    rb_agent_missing = why;
    rb_traps_give_back();
    rb_text_init(&t, line, sizeof(line) - 1);
    rb_put(&t, "Railbird: watch: the program runs unwatched: ");
    rb_put(&t, why);
    t.end++;
    rb_put_char(&t, '\n');
    rb_say(line, (size_t)(t.at - line));
}

void rb_agent_start(void)
{
    const int saved = errno;
    const char *why;

    if (rb_load_acquire(&begun) || rb_exchange_seq_cst(&begun, true))
        return;
    if (!rb_agent_process)
        return; // before our constructor: the next thread may start it
    measure_ticks();
    rb_threads_start();
    why = rb_code_try() ? rb_breakpoints_open(rb_agent_trap_take)
                        : "code cannot be changed: neither /proc/self/mem nor mprotect is permitted";
    if (!why) {
        rb_store_seq_cst(&rb_agent_on, true);
        if (!rb_agent_thread_start()) {
            rb_store_seq_cst(&rb_agent_on, false);
            rb_breakpoints_close();
            why = "there can be no thread for the agent";
        }
    }
    if (why)
        refuse_watch(why);
    errno = saved;
}

void rb_agent_stop(const char *reason)
{
    const int saved = errno;

    if (!rb_exchange_seq_cst(&rb_agent_on, false))
        return;
    if (reason)
        rb_agent_missing = reason;
    rb_samples_stop();
    rb_spin_lock(&rb_plant_lock);
    rb_sites_withdraw_all(true);
    rb_spin_unlock(&rb_plant_lock);
    rb_samples_stop(); // stops threads that are about to set one
    rb_breakpoints_close();
    errno = saved;
}

bool rb_agent_is_process(void)
{
    return rb_agent_process == (pid_t)syscall(SYS_getpid);
}

// ---- fork ----------------------------------------------------------------------------------------------
// Runs by pthread_atfork, registered before all other handlers. So our `prepare` runs after all others, and
// in the child our handler is the first. The lock keeps the agent's thread out of the loader's lock.

static void before_fork(void)
{
    rb_spin_lock(&rb_scan_lock);
}

static void after_fork_parent(void)
{
    rb_spin_unlock(&rb_scan_lock);
}

// Puts back the bytes of ours that the child copied. The child has one thread, a copy of all memory, and no
// breakpoints. The agent begins anew with the child's second thread.
static void after_fork_child(void)
{
    const int saved = errno;

    if (filtered)
        return;
    rb_store_seq_cst(&rb_agent_on, false);
    rb_plant_lock = rb_scan_lock = 0;
    rb_plant_holds = 0;
    rb_sites_after_fork();
    rb_samples_after_fork();
    rb_breakpoints_close();
    rb_threads_after_fork();
    rb_pairs_after_fork();
    rb_agent_thread_after_fork();
    rb_counts = (struct rb_agent_counts){0};
    rb_agent_missing = NULL;
    rb_agent_process = (pid_t)syscall(SYS_getpid);
    begun = finished = false;
    child = true;
    errno = saved;
}

// ---- end -----------------------------------------------------------------------------------------------

void rb_agent_conclude(void)
{
    if (!rb_agent_process || !rb_agent_is_process() || rb_exchange_seq_cst(&finished, true))
        return;
    rb_agent_stop(NULL);
    rb_pairs_work();
    rb_pairs_list();
    if (begun || !child) // a child that never had a second thread has nothing to report
        rb_agent_summary();
}

void rb_agent_before_filter(void)
{
    if (filtered || !rb_agent_process || !rb_agent_is_process())
        return;
    rb_agent_stop("the program is about to filter its system calls (seccomp)");
    rb_agent_thread_stop();
    rb_agent_conclude();
    rb_store_seq_cst(&filtered, true);
    rb_trap_drain();
}

bool rb_agent_is_filtered(void)
{
    return rb_load_seq_cst(&filtered);
}

// Concludes, and returns the exit status. Once system calls are filtered, it prints nothing and makes no
// call.
int rb_agent_finish(int status)
{
    if (!rb_agent_is_filtered()) {
        if (!rb_agent_process || !rb_agent_is_process())
            return status;
        rb_agent_conclude();
    }
    return rb_counts.confirmed && rb_options.exitcode ? (int)rb_options.exitcode : status;
}

static void conclude_at_exit(void *unused)
{
    const int status = rb_agent_finish(-1);

    (void)unused;
    if (status == -1)
        return;
    fflush(NULL); // the part of exit() that is still to do
    syscall(SYS_exit_group, (long)status);
}

extern int __cxa_atexit(void (*function)(void *), void *argument, void *dso);

// Destructors of libraries are still to come: a function registered now runs after them.
static __attribute__((destructor(101))) void register_conclusion(void)
{
    if (__cxa_atexit(conclude_at_exit, NULL, NULL))
        conclude_at_exit(NULL);
}

static void conclude_quick_exit(void)
{
    const int status = rb_agent_finish(-1);

    if (status != -1)
        syscall(SYS_exit_group, (long)status);
}

static __attribute__((constructor(101))) void on_load(void)
{
    const struct rb_options_host host = {NULL, rb_complain, NULL};
    const char *options = rb_env("RAILBIRD_OPTIONS"), *tsan = rb_env("TSAN_OPTIONS");
    const int saved = errno;

    rb_agent_find_all();
    if (rb_is_secure()) // the loader loads the agent here only from the system's own folders
        return;
    rb_options_init(&rb_options);
    rb_options_parse(&rb_options, options ? options : "", "RAILBIRD_OPTIONS", &host);
    if (tsan)
        rb_options_parse_tsan(&rb_options, tsan, NULL);
    read_settings(rb_env("RAILBIRD_WATCH"));
    rb_modules_init();
    rb_arena_init(&rb_host.kept, (size_t)16 << 20);
    rb_program_path();
    rb_agent_seed = rb_options.seed ? rb_options.seed
                                    : rb_mix64(rb_agent_clock(CLOCK_MONOTONIC) + ((uint64_t)getpid() << 40));
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
    at_quick_exit(conclude_quick_exit);
    rb_agent_process = (pid_t)syscall(SYS_getpid);
    begun = false; // threads from before the agent have no record
    errno = saved;
}
