// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ticker of the adaptive sampler: earns a share of the program's CPU time, and spends it on wake-ups,
// windows and episodes.
#include "inproc/clocks.h"
#include "run/access/access.h"
#include "run/access/address_filter.h"
#include "run/core/ticker.h"
#include "run/core/upcalls.h"
#include "run/sampler/adaptive/adaptive.h"

#define MOST_BURST   4096u     // calls
#define ALL_TURNS    8u        // every ALL_TURNS turns all sites wake, else those behind gates only
#define TURN         10000000u // nanoseconds
#define SHORT_TURN   1000000u
#define IDLE_TURN    100000000u
#define DEAR_NS      1e5 // cost of synchronisation in a turn from which turns are short
#define WINDOW_AGE   20000000u
#define WAKES        256u // sites that are woken in one turn
#define DEBT_SHARE   2    // 1/DEBT_SHARE of the income pays back the start allowance
#define WAKE_SHARE   32   // 1/WAKE_SHARE of capacity suffices for a wake-up; with less, hot sites take all
#define WINDOW_SHARE 4    // 1/WINDOW_SHARE of the earnings is saved for windows
#define WARM_NS      5e7  // program's own time before the first window: until then bursts take new code

void rb_adaptive_wake(bool (*give)(struct rb_site *s))
{
    const uint64_t start = rb_arch_ticks();

    rb_sites_flip_all(give, RB_SITE_AWAKE);
    if (give)
        rb_burst_give_again();
    rb_book.woken_ticks = rb_arch_ticks();
    if (give != rb_burst_give_gate)
        rb_book.flip_ticks = rb_book.woken_ticks - start;
}

// Adds the earnings of a turn to both accounts. `income` is the budgeted share of the program's time,
// `cost` the time of the ticker.
static void pay_in(int64_t income, int64_t cost)
{
    const uint64_t synced = rb_load_relaxed(&rb_now.synced);
    const int64_t back = rb_book.debt < income / DEBT_SHARE ? rb_book.debt : income / DEBT_SHARE;

    rb_book.synced = (int64_t)(synced - rb_book.seen_synced);
    rb_book.seen_synced = synced;
    rb_fetch_add_relaxed(&rb_book.episode_earned, income);
    rb_book.debt -= back;
    rb_book.earned = income - back - cost;
    const int64_t saved = rb_is_paused() ? 0 : rb_book.earned / WINDOW_SHARE; // no windows while paused
    if (rb_add_fetch_relaxed(&rb_now.saved, saved) > rb_book.most)
        rb_store_relaxed(&rb_now.saved, rb_book.most);
    if (rb_add_fetch_relaxed(&rb_now.allowance, rb_book.earned - saved) > rb_book.most)
        rb_store_relaxed(&rb_now.allowance, rb_book.most);
    rb_watchpoints_turn(income, rb_adaptive_is_open() && rb_now.taking);
}

// Measures the program's CPU time since the last turn and adds its share to the accounts. Returns false if
// the program was nearly idle.
static bool earn_allowance(void)
{
    const uint64_t cpu = rb_clock_ns(CLOCK_PROCESS_CPUTIME_ID), ticker = rb_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    const uint64_t turns_ns =
        ticker < rb_book.turn_ns ? ticker : ticker - rb_book.turn_ns; // a new ticker begins at 0
    const uint64_t spent = rb_load_relaxed(&rb_now.spent);
    const uint64_t real_ns = rb_clock_ns(CLOCK_MONOTONIC);
    const double real = (double)(real_ns - rb_book.started_ns);
    const double share = rb_budget_aim();

    if (real > 0)
        rb_book.ticks_a_ns = (double)(rb_arch_ticks() - rb_book.started_ticks) / real;
    if (rb_book.woke)
        rb_book.wake_cost = (int64_t)(spent - rb_book.seen_spent);
    if (rb_book.woke_all)
        rb_book.all_cost = rb_book.wake_cost;
    rb_book.woke = rb_book.woke_all = false;
    const double ours_ns = (double)(spent - rb_book.seen_spent) / rb_book.ticks_a_ns + (double)turns_ns;
    double own_ns = (double)(cpu - rb_book.cpu_ns) - ours_ns;
    if (own_ns < 0)
        own_ns = 0;
    const double waiting = rb_waiting_turn(&rb_book.wait, own_ns, rb_book.own_ns, rb_book.episodes);
    const uint64_t waited = (uint64_t)(waiting * rb_book.ticks_a_ns);
    rb_fetch_add_relaxed(&rb_now.spent, waited);
    rb_fetch_add_relaxed(&rb_now.synced, waited);
    rb_fetch_sub_relaxed(&rb_now.allowance, (int64_t)waited);
    own_ns = own_ns > waiting ? own_ns - waiting : 0;
    rb_book.own_ns += own_ns;
    rb_now.warm = rb_book.own_ns > WARM_NS;
    rb_book.cpu_ns = cpu;
    rb_book.seen_spent = spent + waited;
    const int64_t cost = (int64_t)((double)turns_ns * rb_book.ticks_a_ns);
    rb_book.turn_ns = ticker;
    rb_book.ticker_ns += turns_ns;
    rb_book.most = (int64_t)(rb_budget_most_ns() * rb_book.ticks_a_ns);
    pay_in((int64_t)(own_ns * share * rb_book.ticks_a_ns), cost);
    const double passed = (double)(real_ns - rb_book.turned_ns);
    rb_book.pace = passed > 0 ? (double)rb_book.earned * TURN / passed : 0;
    rb_book.turned_ns = real_ns;
    return own_ns > passed / 100;
}

// Adapts the length of bursts to the budget: longer while some of it is left over, shorter if it ran out.
static void size_bursts(void)
{
    const int64_t allowance = rb_load_relaxed(&rb_now.allowance);
    uint32_t burst = rb_burst;

    if (allowance < rb_book.earned && burst > RB_BURST_LEAST)
        burst -= burst / 4;
    else if (allowance > 2 * rb_book.earned && burst < MOST_BURST)
        burst += burst / 4 + 1;
    rb_burst = burst;
}

// Wakes all sleeping sites if that is cheap, else WAKES random ones and the gates in front of them.
static void wake_some(void)
{
    struct rb_site *list[2 * WAKES];
    const uint32_t sites = rb_sites_count();
    uint32_t count = 0;

    const bool all = !rb_now.gated || ++rb_book.wakes % ALL_TURNS == 0 ||
                     rb_load_relaxed(&rb_now.allowance) > 4 * rb_book.all_cost;

    size_bursts();
    if (sites <= WAKES || 8 * (int64_t)rb_book.flip_ticks < rb_book.earned) {
        rb_adaptive_wake(all ? rb_burst_give : rb_burst_give_gate);
        rb_book.woke_all = all;
        rb_book.woke = true;
        return;
    }
    for (uint32_t i = 0; i < WAKES; i++) {
        struct rb_site *s = rb_site_number((uint32_t)rb_rng_below(&rb_book.rng, sites));
        struct rb_site *gate = rb_site_known(s->gate);
        if (all && s->state == RB_SITE_ASLEEP && rb_burst_give(s))
            list[count++] = s;
        else if (rb_burst_is_over(s))
            rb_burst_give(s);
        if (gate && rb_burst_give(gate))
            list[count++] = gate;
    }
    if (count)
        rb_sites_flip(list, count, RB_SITE_AWAKE);
}

// Returns the time for the ticker to sleep until `ticks` have been earned: half of the time expected at the
// rate of the last turn. Each turn interrupts the program, and its threads may hold locks.
static uint64_t until_earned(int64_t ticks)
{
    const int64_t missing = ticks - rb_load_relaxed(&rb_now.allowance);
    const double turns = rb_book.pace > 0 ? (double)missing / rb_book.pace / 2 : 0;
    const double ns = turns > 1 ? turns * TURN : TURN;

    return ns < IDLE_TURN ? (uint64_t)ns : IDLE_TURN;
}

// Returns false for new sites, which stay awake during a pause.
static bool is_known(struct rb_site *s)
{
    return s->taken >= RB_ALWAYS;
}

// Ends or begins an episode if it is time. Returns true if the sampler is paused afterwards.
static bool switch_episode(void)
{
    bool paused, changes;

    rb_spin_lock(&rb_book.changing);
    paused = rb_is_paused();
    const bool due = rb_book.calibrating || rb_load_relaxed(&rb_now.allowance) > rb_episode_price();
    changes = paused ? due && !rb_book.wait.unknown : rb_episode_is_exhausted() || rb_book.wait.unknown;
    const bool calibrated = rb_book.calibrating;
    if (changes)
        rb_book.calibrating = !paused && !rb_episode_is_exhausted();
    if (changes && paused && calibrated)
        rb_episode_resume();
    else if (changes && paused)
        rb_episode_begin();
    else if (changes)
        rb_episode_end();
    if (changes || due)
        rb_store_relaxed(&rb_now.brief, 0); // a full episode is earned
    if (changes)
        rb_waiting_change(&rb_book.wait, rb_book.episodes, paused);
    rb_spin_unlock(&rb_book.changing);
    if (changes && paused)
        rb_adaptive_wake(rb_burst_give);
    else if (changes)
        rb_sites_flip_all(is_known, RB_SITE_ASLEEP);
    return paused != changes;
}

void rb_adaptive_pause(void)
{
    rb_spin_lock(&rb_book.changing);
    rb_store_release(&rb_now.mode, QUIET);
    rb_filter_end();
    rb_store_relaxed(&rb_now.allowance, INT64_MIN / 2); // below the limit of debt for new code
    rb_store_relaxed(&rb_now.saved, 0);
    rb_store_relaxed(&rb_now.grace, 0);
    if (!rb_is_paused())
        rb_episode_end();
    rb_spin_unlock(&rb_book.changing);
    rb_sites_flip_all(NULL, RB_SITE_ASLEEP);
}

uint64_t rb_adaptive_turn(void)
{
    const uint32_t mode = rb_load_acquire(&rb_now.mode);
    const bool busy = earn_allowance();

    if (mode == COUNTING || mode == OPEN) {
        if (rb_clock_ns(CLOCK_MONOTONIC) - rb_book.opened_ns < WINDOW_AGE)
            return SHORT_TURN;
        rb_window_end(mode);
        return SHORT_TURN;
    }
    if (mode == CLOSING)
        rb_window_close();
    if (rb_sampling_has_others())
        rb_book.lonely_turns = 0;
    else if (++rb_book.lonely_turns > 2)
        return RB_TICKER_END;
    if (!busy)
        return ++rb_book.idle_turns > 10 ? IDLE_TURN : TURN;
    rb_book.idle_turns = 0;
    if (switch_episode())
        return rb_book.wait.unknown ? TURN : until_earned(rb_episode_price());
    const int64_t window = (int64_t)(1e6 * rb_book.ticks_a_ns) + 4 * (int64_t)rb_book.flip_ticks;
    if (rb_now.warm && rb_load_relaxed(&rb_now.saved) > 2 * window) {
        if (rb_window_prepare())
            rb_window_open();
        return SHORT_TURN;
    }
    const bool dear =
        rb_book.synced > (int64_t)(DEAR_NS * rb_book.ticks_a_ns) && rb_book.synced > rb_book.earned;
    const int64_t most = rb_book.most / WAKE_SHARE,
                  needed = rb_book.wake_cost < most ? rb_book.wake_cost : most;
    if (rb_load_relaxed(&rb_now.allowance) >= needed) {
        wake_some();
    } else {
        size_bursts();
        if (!dear)
            return until_earned(needed);
    }
    return dear ? SHORT_TURN : TURN; // soon exhausted
}
