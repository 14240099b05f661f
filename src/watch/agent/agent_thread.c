// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The agent's own thread: plants sites, takes back those that no thread reached, ends expired
// breakpoints, asks for tables, reports. It is a thread of libc's, with all signals blocked but SIGTRAP.
// It ends by itself when all threads of the program have ended, so that the process can.
//
// Rate      Tokens: a number per second, one less for each sample. While there are some, sites are planted,
//           a few a turn, and the oldest are replaced. So the rate of samples follows the setting if code is
//           executed at all, and planted sites are uniform over sites. docs/explanation/watch.md, "Which accesses are
//           sampled".
// Groups    The largest cost for a program is a set breakpoint: processors then fill and copy memory many
//           times slower (rep stos, rep movs). So tokens are saved until there are as many as breakpoints,
//           and used together.
// Budget    The cost is the measured time of traps and of this thread, and a part of the program's time
//           while a breakpoint is set. It is at most a share of the processor time of the process, or of a
//           tenth of a core's if the process takes less. Above it nothing is planted. Delays have a budget
//           of the same share, of the time that threads exist.
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/pages.h"
#include "base/ticks.h"
#include "inproc/host.h"
#include "watch/agent/agent.h"

#define TURN_NS     10000000u
#define IDLE_NS     50000000u
#define RING        512u
#define STACK_BYTES ((size_t)256 << 10)
#define LOOK_NS     1000000000u // between checks of the process
#define UNHEARD     4096
#define ALLOWANCE   5000000u // nanoseconds that may be spent before there is a time to take a share of
#define MOST_RATED  65536u
#define SLOWED      4u // one part in so many of the time with a breakpoint set is lost, if memory is filled

struct planted {
    struct rb_code_module *module;
    uint32_t site;
};

rb_spin rb_plant_lock;
uint32_t rb_plant_holds;

static struct planted ring[RING];
static uint32_t ring_at;
static struct planted *rated; // --rate: the sites that are planted again and again
static uint32_t rated_count, rated_at;
static struct rb_rng rng;
static uint32_t wake_word, stopping, running;
static uint64_t trap_ticks, delay_ns, delay_allowed; // ticks and nanoseconds
static uint64_t began, last_turn, last_look, last_samples, thread_ns;
static uint64_t last_cpu, set_ns; // processor time of the process: total, and while one was set
static bool was_set;
static int64_t tokens; // in millionths
static bool using;     // a group of them

// ---- cost ----------------------------------------------------------------------------------------------

void rb_agent_pay(uint64_t ticks)
{
    rb_fetch_add_relaxed(&trap_ticks, ticks);
}

void rb_agent_delayed(uint64_t ticks)
{
    const uint64_t ns = rb_agent_ns(ticks);
    const uint64_t all = rb_add_fetch_relaxed(&delay_ns, ns);

    rb_store_relaxed(&rb_counts.delay_ms, all / 1000000u);
}

bool rb_agent_may_delay(void)
{
    return rb_load_relaxed(&delay_ns) <= rb_load_relaxed(&delay_allowed);
}

static uint64_t spent_ns(void)
{
    return rb_agent_ns(rb_load_relaxed(&trap_ticks)) + thread_ns + set_ns / SLOWED;
}

// Returns the time that the budget is a share of. A process that does little still has a minimum.
static uint64_t basis_ns(uint64_t now)
{
    return rb_agent_clock(CLOCK_PROCESS_CPUTIME_ID) + (now - began) / 10;
}

double rb_agent_cost(void)
{
    return began ? (double)spent_ns() / (double)(rb_agent_clock(CLOCK_PROCESS_CPUTIME_ID) + 1) : 0;
}

static bool is_within_budget(uint64_t now)
{
    return spent_ns() <= ALLOWANCE + (uint64_t)((double)basis_ns(now) * (double)rb_agent.budget / 1e6);
}

// ---- planting; the lock is held ------------------------------------------------------------------------

static void plant_some(unsigned count)
{
    const uint64_t sites = rb_sites_total();
    struct rb_code_module *m;
    uint32_t site;

    rb_counts.sites = sites;
    for (unsigned i = 0; sites && i < count; i++) {
        if (!rb_site_pick(rb_rng_below(&rng, sites), &m, &site) || !rb_site_plant(m, site, RB_SITE_SET))
            continue;
        struct planted *p = &ring[ring_at++ % RING];
        if (p->module && p->module->from && rb_site_withdraw(p->module, p->site))
            RB_COUNTED(withdrawn);
        *p = (struct planted){m, site};
    }
}

// Chooses the fixed part of the sites, by a hash, so that it is the same in each run with the same seed.
static void choose_rated(void)
{
    if (!rated && !(rated = rb_pages_map(MOST_RATED * sizeof(*rated))))
        return;
    rated_count = 0;
    rb_counts.sites = rb_sites_total();
    for (uint32_t i = 0; i < rb_module_count; i++) {
        struct rb_code_module *m = &rb_modules[i];
        for (uint32_t k = 0; m->from && k < m->table.header->sites && rated_count < MOST_RATED; k++)
            if (rb_mix64(rb_mix64(rb_agent_seed + m->table.row[m->table.site[k]].offset) + i) % 1000000u <
                rb_agent.rate)
                rated[rated_count++] = (struct planted){m, k};
    }
}

static void plant_rated(unsigned count)
{
    for (unsigned i = 0; i < count && i < rated_count; i++) {
        const struct planted *p = &rated[rated_at++ % rated_count];
        if (p->module->from)
            rb_site_plant(p->module, p->site, RB_SITE_SET);
    }
}

static unsigned batch_size(void)
{
    const unsigned n = rb_agent.per_second / 8;

    return n < 32 ? 32 : n > 256 ? 256 : n;
}

static void plant_sites(uint64_t now)
{
    const uint64_t samples = rb_load_relaxed(&rb_counts.samples);

    tokens += (int64_t)((now - last_turn) / 1000 * rb_agent.per_second) -
              (int64_t)(samples - last_samples) * 1000000;
    const int64_t group = (int64_t)RB_BREAKPOINTS * 1000000;
    const int64_t most = (int64_t)rb_agent.per_second * 100000 + group;
    tokens = tokens > most ? most : tokens < -4 * most ? -4 * most : tokens;
    using = tokens >= group || (using && tokens > 0);
    last_samples = samples;
    if (!is_within_budget(now))
        return;
    if (rb_agent.mode == RB_MODE_BOTH && rb_agent_may_delay())
        rb_pairs_return(16);
    if (rb_agent.mode == RB_MODE_COLLIDE && !rb_agent_may_delay())
        return;
    if (rb_agent.rate)
        plant_rated(1024);
    else if (using)
        plant_some(batch_size());
}

// ---- turns ---------------------------------------------------------------------------------------------

// Returns a reason to stop for good, or NULL.
static const char *check_world(void)
{
    if (rb_breakpoints_traced())
        return "a debugger is there";
    if (!rb_traps_installed())
        return "the program has taken SIGTRAP past libc";
    if (rb_breakpoints_unheard() > UNHEARD)
        return "the program blocks SIGTRAP past libc";
    return NULL;
}

static uint64_t run_turn(void)
{
    const uint64_t now = rb_agent_clock(CLOCK_MONOTONIC), threads = rb_threads_alive();
    const char *why = rb_load_relaxed(&rb_agent_missing);

    const uint64_t cpu = rb_agent_clock(CLOCK_PROCESS_CPUTIME_ID);
    set_ns += was_set ? cpu - last_cpu : 0;
    last_cpu = cpu;
    rb_pairs_work();
    if (rb_options.halt_on_error && rb_counts.confirmed)
        syscall(SYS_exit_group, (long)rb_agent_finish(rb_options.exitcode ? (int)rb_options.exitcode : 66));
    if (!why && now - last_look >= LOOK_NS) {
        last_look = now;
        why = check_world();
    }
    rb_store_relaxed(&delay_allowed, ALLOWANCE + (uint64_t)((double)(now - began) * (double)threads *
                                                            (double)rb_agent.budget / 1e6));
    rb_spin_lock(&rb_plant_lock);
    const bool free_to = rb_load_seq_cst(&rb_plant_holds) == 0;
    const bool changed = free_to && rb_modules_look();
    if (free_to && !changed && !why && threads > 1 && rb_load_seq_cst(&rb_agent_on))
        plant_sites(now);
    rb_spin_unlock(&rb_plant_lock);
    if (changed) {
        rb_modules_take();
        if (rb_agent.rate)
            choose_rated();
    }
    last_turn = now;
    thread_ns = rb_agent_clock(CLOCK_THREAD_CPUTIME_ID);
    if (!why)
        why = rb_code_refused;
    if (why)
        rb_agent_stop(why);
    return changed ? 0 : rb_samples_wait(threads > 1 && is_within_budget(now) ? TURN_NS : IDLE_NS, &was_set);
}

void rb_agent_wake(void)
{
    rb_fetch_add_seq_cst(&wake_word, 1);
    syscall(SYS_futex, &wake_word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0L);
}

static void *run_agent(void *unused)
{
    (void)unused;
    syscall(SYS_prctl, 15L /* PR_SET_NAME */, "railbird");
    last_turn = last_look = rb_agent_clock(CLOCK_MONOTONIC);
    while (!rb_load_seq_cst(&stopping) && rb_threads_alive() > 0) {
        const uint32_t word = rb_load_seq_cst(&wake_word);
        const uint64_t wait = run_turn();
        const struct timespec pause = {(time_t)(wait / 1000000000u), (long)(wait % 1000000000u)};
        if (!rb_load_seq_cst(&rb_agent_on))
            break;
        if (wait)
            syscall(SYS_futex, &wake_word, FUTEX_WAIT_PRIVATE, (long)word, &pause, NULL, 0L);
    }
    rb_agent_stop(NULL);
    rb_store_seq_cst(&running, 0);
    syscall(SYS_futex, &running, FUTEX_WAKE_PRIVATE, 64L, NULL, NULL, 0L);
    return NULL;
}

bool rb_agent_thread_start(void)
{
    uint64_t all = ~((uint64_t)1 << (SIGTRAP - 1)), before;
    pthread_attr_t attr;
    pthread_t thread;

    rb_rng_seed(&rng, rb_agent_seed);
    began = rb_agent_clock(CLOCK_MONOTONIC);
    delay_allowed = ALLOWANCE;
    stopping = 0;
    running = 1;
    if (pthread_attr_init(&attr))
        return false;
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    syscall(SYS_rt_sigprocmask, (long)SIG_SETMASK, &all, &before, 8L);
    const int r = RB_NEXT(pthread_create)(&thread, &attr, run_agent, NULL);
    syscall(SYS_rt_sigprocmask, (long)SIG_SETMASK, &before, NULL, 8L);
    pthread_attr_destroy(&attr);
    if (r)
        running = 0;
    return r == 0;
}

void rb_agent_thread_stop(void)
{
    const struct timespec pause = {0, 100000000};

    rb_store_seq_cst(&stopping, 1);
    rb_agent_wake();
    for (unsigned i = 0; i < 50 && rb_load_seq_cst(&running); i++)
        syscall(SYS_futex, &running, FUTEX_WAIT_PRIVATE, 1L, &pause, NULL, 0L);
}

void rb_agent_thread_after_fork(void)
{
    running = stopping = 0;
    trap_ticks = delay_ns = delay_allowed = last_cpu = set_ns = 0;
    was_set = false;
    began = last_samples = thread_ns = 0;
    tokens = 0;
    using = false;
    ring_at = 0;
    for (unsigned i = 0; i < RING; i++)
        ring[i].module = NULL;
}
