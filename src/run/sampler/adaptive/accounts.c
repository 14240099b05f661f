// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ticker of the adaptive sampler: earns a share of the program's CPU time, and spends it on wake-ups,
// windows and episodes.
#include "inproc/clocks.h"
#include "run/access/access.h"
#include "run/access/address_filter.h"
#include "run/core/ticker.h"
#include "run/core/upcalls.h"
#include "run/sampler/adaptive/adaptive.h"

#define TURN         10000000u   // nanoseconds
#define SHORT_TURN   (TURN / 10) // in a window
#define IDLE_TURN    (TURN * 10) // after as many without work
#define WARM_NS      5e7         // program's own time in which the start allowance is spent
#define WAKES        256u        // sites that are woken in one turn
#define WINDOW_SHARE 4           // 1/WINDOW_SHARE of the earnings is saved for windows

void rb_adaptive_wake(bool (*give)(struct rb_site *s))
{
    const uint64_t start = rb_arch_ticks();

    rb_sites_flip_all(give, RB_SITE_AWAKE);
    if (give)
        rb_burst_give_again();
    rb_book.woken_ticks = rb_arch_ticks();
    rb_book.flip_ticks = rb_book.woken_ticks - start;
}

static void pay_into(int64_t *account, int64_t ticks)
{
    if (rb_add_fetch_relaxed(account, ticks) > rb_book.most)
        rb_store_relaxed(account, rb_book.most);
}

// Measures the program's own CPU time since the last turn and adds the budgeted share of it, less the cost
// of the ticker, to both accounts. Returns false if the program was nearly idle.
static bool earn_allowance(void)
{
    const uint64_t cpu = rb_clock_ns(CLOCK_PROCESS_CPUTIME_ID), ticker = rb_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    const uint64_t turn_ns =
        ticker < rb_book.turn_ns ? ticker : ticker - rb_book.turn_ns; // a new ticker begins at 0
    const uint64_t spent = rb_load_relaxed(&rb_now.spent), now = rb_clock_ns(CLOCK_MONOTONIC);
    const double passed = (double)(now - rb_book.turned_ns);

    if (now > rb_book.started_ns)
        rb_book.ticks_a_ns =
            (double)(rb_arch_ticks() - rb_book.started_ticks) / (double)(now - rb_book.started_ns);
    const double ours_ns = (double)(spent - rb_book.seen_spent) / rb_book.ticks_a_ns + (double)turn_ns;
    const double rest_ns = (double)(cpu - rb_book.cpu_ns) - ours_ns, own_ns = rest_ns > 0 ? rest_ns : 0;
    rb_book.own_ns += own_ns;
    rb_now.warm = rb_book.own_ns > WARM_NS;
    rb_book.cpu_ns = cpu;
    rb_book.seen_spent = spent;
    rb_book.turn_ns = ticker;
    rb_book.ticker_ns += turn_ns;
    rb_book.turned_ns = now;
    rb_book.most = (int64_t)(rb_budget_most_ns() * rb_book.ticks_a_ns);

    const int64_t income = (int64_t)(own_ns * rb_budget_aim() * rb_book.ticks_a_ns);
    rb_fetch_add_relaxed(&rb_book.episode_earned, income);
    rb_book.earned = income - (int64_t)((double)turn_ns * rb_book.ticks_a_ns);
    const int64_t saved = rb_is_paused() ? 0 : rb_book.earned / WINDOW_SHARE; // no windows while paused
    pay_into(&rb_now.saved, saved);
    pay_into(&rb_now.allowance, rb_book.earned - saved);
    rb_watchpoints_turn(income, rb_adaptive_is_open() && rb_now.taking);
    return own_ns > passed / 100;
}

// Wakes all sleeping sites if that is cheap, else WAKES random ones and the gates in front of them.
static void wake_some(void)
{
    struct rb_site *list[2 * WAKES];
    const uint32_t sites = rb_sites_count();
    uint32_t count = 0;

    if (sites <= WAKES || 8 * (int64_t)rb_book.flip_ticks < rb_book.earned) {
        rb_adaptive_wake(rb_burst_give);
        return;
    }
    for (uint32_t i = 0; i < WAKES; i++) {
        struct rb_site *s = rb_site_number((uint32_t)rb_rng_below(&rb_book.rng, sites));
        struct rb_site *gate = rb_site_known(s->gate);
        if (rb_burst_give(s) && s->state == RB_SITE_ASLEEP)
            list[count++] = s;
        if (gate && rb_burst_give(gate))
            list[count++] = gate;
    }
    if (count)
        rb_sites_flip(list, count, RB_SITE_AWAKE);
}

// Returns false for new sites, which stay awake during a pause: they may begin an episode.
static bool is_known(struct rb_site *s)
{
    return s->taken >= RB_ALWAYS;
}

// Ends or begins an episode if it is time. Returns true if the sampler is paused afterwards.
static bool switch_episode(void)
{
    rb_spin_lock(&rb_book.changing);
    const bool paused = rb_is_paused();
    const bool changes =
        paused ? rb_load_relaxed(&rb_now.allowance) > rb_episode_price() : rb_episode_is_exhausted();
    if (changes && paused)
        rb_episode_begin();
    else if (changes)
        rb_episode_end();
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
        if (rb_book.turned_ns - rb_book.opened_ns > 2 * TURN)
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
        return ++rb_book.idle_turns > IDLE_TURN / TURN ? IDLE_TURN : TURN;
    rb_book.idle_turns = 0;
    if (switch_episode())
        return TURN;
    const int64_t window = (int64_t)(1e6 * rb_book.ticks_a_ns) + 4 * (int64_t)rb_book.flip_ticks;
    if (rb_load_relaxed(&rb_now.saved) > 2 * window) {
        if (rb_window_prepare())
            rb_window_open();
        return SHORT_TURN;
    }
    rb_burst_resize();
    if (rb_adaptive_is_open())
        wake_some();
    return TURN;
}
