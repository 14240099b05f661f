// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Interface between the files of the adaptive sampler (docs/explanation/sampling.md): the policy and the terms
// (adaptive.c), bursts of sites (bursts.c), windows (windows.c), episodes (episodes.c), and the ticker,
// which spends the budget (accounts.c).
#ifndef RB_RUN_SAMPLER_ADAPTIVE_ADAPTIVE_H
#define RB_RUN_SAMPLER_ADAPTIVE_ADAPTIVE_H

#include "run/core/arch.h"
#include "run/core/upcalls.h"
#include "run/sampler/sampling.h"
#include "run/sites/sites.h"
#include "run/sync/waiting.h"

#define RB_ALWAYS          4u     // first calls of a site or gate that are taken at any allowance
#define RB_COUNTED         16384u // accesses that are counted before a window
#define RB_GRACE_NS        5e5    // length of a grace period for new code, with an allowance below zero
#define RB_EPISODE_SHARE   8      // an episode costs 1/RB_EPISODE_SHARE of the capacity of an account
#define RB_OVERDRAFT_SHARE 6      // new code may owe 1/RB_OVERDRAFT_SHARE of that capacity

// QUIET: bursts only. COUNTING, then OPEN: every site is awake. CLOSING: only first calls are taken, until
// the ticker puts the sites to sleep.
enum mode { QUIET, COUNTING, OPEN, CLOSING };

// Written by all threads.
extern RB_HIDDEN struct rb_now {
    int64_t allowance; // ticks, for bursts
    int64_t saved;     // ticks, for windows
    uint64_t spent;    // ticks
    int64_t left;      // of the window: accesses in COUNTING, ticks in OPEN
    uint64_t counted;  // accesses of the window
    uint32_t mode;
    bool warm;           // the warm-up time of the program (WARM_NS) is over
    int64_t start_floor; // the start stage ends at this allowance: half of the start allowance
    uint64_t synced;     // ticks, of those spent, on synchronisation
    bool taking;         // accesses are taken; false while paused
    bool gated;          // there are gates
    uint64_t grace;      // end of the grace period, in ticks of the clock
    uint64_t brief;      // value of `synced` at which a brief episode ends; 0: the episode is not brief
    bool threaded;       // a second thread has existed; until then the sampler is paused
} rb_now;

// Written by the ticker, or by the thread that ends a window.
extern RB_HIDDEN struct rb_book {
    double ticks_a_ns;
    uint64_t started_ns, started_ticks;
    uint64_t cpu_ns;     // of the process, at the last turn
    uint64_t seen_spent; // at the last turn
    uint64_t ticker_ns;  // CPU time of all tickers so far
    uint64_t turn_ns;    // CPU time of the present ticker at its last turn
    uint64_t turned_ns;  // monotonic time of that turn
    uint64_t opened_ns;  // monotonic time at which the window began
    uint64_t count_cpu;  // CPU time of the process then
    double own_ns;       // CPU time of the program itself, in total
    double counted_ns;   // CPU time of the program itself in COUNTING
    uint64_t counted;    // accesses in COUNTING
    uint64_t in_windows; // accesses taken in windows
    uint64_t windows;
    uint64_t flip_ticks;    // duration of the last wake-up of all sites
    uint64_t woken_ticks;   // clock at its end
    int64_t earned;         // ticks, in the last turn
    int64_t most;           // capacity of an account, in ticks
    uint64_t seen_synced;   // at the last turn
    int64_t synced;         // in the last turn
    uint64_t episode_from;  // `synced` at the start of this episode
    int64_t episode_earned; // ticks earned in it, before the cost of the ticker
    int64_t debt;           // ticks of the start allowance that are not yet paid back
    uint64_t episodes;
    int64_t wake_cost, all_cost; // ticks spent in the turn after the last wake-up, and the last full one
    bool woke, woke_all;         // in the last turn
    bool prepared;               // the gates were opened for the next window
    bool calibrating;            // the pause only measures the usual rate of switches (waiting.h)
    double pace;                 // ticks earned per TURN, at the rate of the last turn
    uint32_t idle_turns, lonely_turns, wakes;
    struct rb_rng rng;
    struct rb_waiting wait;
    rb_spin changing; // held to begin or end an episode
} rb_book;

// ---- the allowance (adaptive.c, accounts.c) ------------------------------------------------------------

// Returns true if accesses other than first calls may be taken.
RB_INLINE bool rb_adaptive_is_open(void)
{
    if (rb_load_relaxed(&rb_now.allowance) >= 0)
        return true;
    const uint64_t grace = rb_load_relaxed(&rb_now.grace);
    return RB_UNLIKELY(grace) && (int64_t)(grace - rb_arch_ticks()) > 0;
}

// Begins a grace period, for new code: its accesses are taken on credit.
RB_INLINE void rb_adaptive_grant_grace(void)
{
    const uint64_t until = rb_arch_ticks() + (uint64_t)(RB_GRACE_NS * rb_book.ticks_a_ns);

    rb_store_relaxed(&rb_now.grace, until);
}

// Returns true if new code has reached its limit of debt. Its sites then sleep untaken until all are woken.
RB_INLINE bool rb_adaptive_is_overdrawn(void)
{
    return rb_load_relaxed(&rb_now.allowance) < -rb_book.most / RB_OVERDRAFT_SHARE;
}

// Returns true in the start stage, until half of the start allowance is spent.
RB_INLINE bool rb_adaptive_is_starting(void)
{
    return !rb_now.warm && rb_load_relaxed(&rb_now.allowance) > rb_now.start_floor;
}

// Wakes the sleeping sites for which `give` returns true; NULL: all.
RB_HIDDEN void rb_adaptive_wake(bool (*give)(struct rb_site *s));
RB_HIDDEN uint64_t rb_adaptive_turn(void); // of the ticker
// Ends sampling for good, since nothing is earned without the ticker: pauses and puts all sites to sleep.
RB_HIDDEN void rb_adaptive_pause(void);

// ---- the budget: from `budget=` to the aim and the start allowance (docs/explanation/sampling.md, "The budget") ----

#define RB_AIM           0.7      // of the budget; the rest covers runs that end in debt
#define RB_UNSEEN        0.015    // of the program's time: cost that is not measured
#define RB_LEAST_AIM     0.4      // of the budget: lower limit of the aim
#define RB_START_NS      4000000u // start allowance for each per cent: spent in advance, then paid back
#define RB_MOST_START_NS 20000000u
#define RB_FIRST_NS      2500u // of it: reserved for the first calls of each site known at the start

// Returns the share of the program's own time that measured cost may take.
RB_INLINE double rb_budget_aim(void)
{
    const double budget = (double)rb_options.budget * 1e-6, most = budget * RB_AIM - RB_UNSEEN;

    return most > budget * RB_LEAST_AIM ? most : budget * RB_LEAST_AIM;
}

RB_INLINE double rb_budget_start_ns(void)
{
    const double ns = (double)rb_options.budget * 1e-4 * RB_START_NS;

    return ns < RB_MOST_START_NS ? ns : RB_MOST_START_NS;
}

// Returns the start allowance without the reserve for first calls, which are taken at any allowance. The
// reserve of a large program is at most half of the start allowance.
RB_INLINE double rb_budget_given_ns(uint32_t sites)
{
    const double ns = rb_budget_start_ns(), first = (double)sites * RB_FIRST_NS;

    return first < ns / 2 ? ns - first : ns / 2;
}

// Returns the capacity of an account in nanoseconds: the budget of one second, and the start allowance.
RB_INLINE double rb_budget_most_ns(void)
{
    return (double)rb_options.budget * RB_AIM * 1e3 + rb_budget_start_ns();
}

// ---- bursts (bursts.c) ---------------------------------------------------------------------------------

#define RB_BURST_FIRST 16u // least length of a new site's burst, in calls
#define RB_BURST_LEAST 6u  // least length of the burst after a wake-up

extern RB_HIDDEN uint32_t rb_burst; // length of the burst after a wake-up

// Give a site its next burst and return true, as rb_sites_flip_all expects of its filter.
RB_HIDDEN bool rb_burst_give(struct rb_site *s);
RB_HIDDEN bool rb_burst_give_first(struct rb_site *s);
// The same for gates; return false for other sites.
RB_HIDDEN bool rb_burst_give_gate(struct rb_site *s);
RB_HIDDEN bool rb_burst_give_window(struct rb_site *s); // open until the window ends
// Returns true if the site is awake after the end of its burst, as sites behind a gate are.
RB_INLINE bool rb_burst_is_over(const struct rb_site *s)
{
    return s->state == RB_SITE_AWAKE && !s->left && s->taken;
}
RB_HIDDEN void rb_burst_give_again(void); // to all those sites
// Returns true if the site was called in the window that ends and has no gate to be closed in its place.
RB_HIDDEN bool rb_burst_is_spent(struct rb_site *s);

// Records that the thread calls the site. The burst is prolonged if another thread called it last.
RB_HIDDEN void rb_burst_meet(const struct rb_self *me, struct rb_site *s);
// Returns true if the burst that ends took long, as that of a seldom called site does.
RB_HIDDEN bool rb_burst_was_slow(const struct rb_site *s, double ticks_a_ns);
// Ends the burst: puts the site to sleep, or closes the gate in front of it.
RB_HIDDEN void rb_burst_end(struct rb_self *me, struct rb_site *s);

// ---- windows (windows.c) -------------------------------------------------------------------------------

// Opens all gates a turn before a window. Returns true if the window may begin.
RB_HIDDEN bool rb_window_prepare(void);
RB_HIDDEN void rb_window_open(void);
// Counts `passed` accesses of the window and sets the gap after them.
RB_HIDDEN enum rb_take rb_window_count(uint64_t passed, uint64_t *gap);
RB_HIDDEN void rb_window_end(uint32_t from); // takes no more accesses for it
RB_HIDDEN void rb_window_close(void);        // puts its sites to sleep

// ---- episodes (episodes.c) -----------------------------------------------------------------------------

// With rb_book.changing held.
RB_HIDDEN void rb_episode_begin(void);
RB_HIDDEN void rb_episode_resume(void); // after a calibrating pause
RB_HIDDEN void rb_episode_end(void);
// Without it, by any thread. Returns true if the episode has spent its share on synchronisation.
RB_HIDDEN bool rb_episode_is_exhausted(void);
RB_HIDDEN int64_t rb_episode_price(void); // the allowance at which one begins
// Returns true if a site with `taken` calls taken, called during a pause, may begin an episode.
RB_HIDDEN bool rb_episode_may_begin(uint16_t taken);
RB_HIDDEN bool rb_episode_begin_brief(uint16_t taken); // returns false if none may begin now
RB_HIDDEN void rb_episode_cut(void);                   // ends it before the ticker does

#endif
