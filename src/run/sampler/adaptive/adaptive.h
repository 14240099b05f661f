// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Interface between the files of the adaptive sampler (docs/explanation/sampling.md): the policy and the terms
// (adaptive.c), bursts of sites (bursts.c), windows (windows.c), episodes (episodes.c), and the ticker,
// which earns and spends the budget (accounts.c).
#ifndef RB_RUN_SAMPLER_ADAPTIVE_ADAPTIVE_H
#define RB_RUN_SAMPLER_ADAPTIVE_ADAPTIVE_H

#include "run/core/arch.h"
#include "run/core/upcalls.h"
#include "run/sampler/sampling.h"
#include "run/sites/sites.h"

#define RB_ALWAYS  4u     // first calls of a site or gate that are taken at any allowance
#define RB_CALLS   16u    // calls of the first burst, and looks that make code common
#define RB_COUNTED 16384u // accesses that are counted before a window
#define RB_GAP     31u    // accesses between two decisions where nothing is taken
#define RB_PART    8      // 1/RB_PART of an account: the price of an episode, and the limit of debt

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
    int64_t start_floor; // half of the start allowance, which the start stage leaves
    bool warm;           // the program itself has used WARM_NS: the start stage is over
    uint64_t synced;     // ticks, of those spent, on synchronisation
    bool taking;         // accesses are taken; false while paused
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
    uint64_t turned_ns;  // monotonic time of the last turn
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
    uint64_t episode_from;  // `synced` at the start of this episode
    int64_t episode_earned; // ticks earned in it, before the cost of the ticker
    uint64_t episodes;
    bool prepared; // the gates were opened for the next window
    uint32_t idle_turns, lonely_turns;
    struct rb_rng rng;
    rb_spin changing; // held to begin or end an episode
} rb_book;

// ---- the allowance (adaptive.c, accounts.c) ------------------------------------------------------------

// Returns true if accesses other than first calls may be taken.
RB_INLINE bool rb_adaptive_is_open(void)
{
    return rb_load_relaxed(&rb_now.allowance) >= 0;
}

// Returns true if new code has reached its limit of debt. Its sites then sleep untaken until all are woken.
RB_INLINE bool rb_adaptive_is_overdrawn(void)
{
    return rb_load_relaxed(&rb_now.allowance) < -rb_book.most / RB_PART;
}

// Returns true in the start stage: the program is young, and half of the start allowance is there.
RB_INLINE bool rb_adaptive_is_starting(void)
{
    return !rb_now.warm && rb_load_relaxed(&rb_now.allowance) > rb_now.start_floor;
}

// Wakes the sleeping sites for which `give` returns true; NULL: all.
RB_HIDDEN void rb_adaptive_wake(bool (*give)(struct rb_site *s));
RB_HIDDEN uint64_t rb_adaptive_turn(void); // of the ticker
// Ends sampling for good, since nothing is earned without the ticker: pauses and puts all sites to sleep.
RB_HIDDEN void rb_adaptive_pause(void);

// ---- the budget: from `budget=` to the aim and the start allowance (docs/explanation/sampling.md, "The account") ----

#define RB_AIM      0.4       // of the budget is spent by measure; the rest covers cost that no clock sees
#define RB_START_NS 400000000 // of the program's time: its budget is the start allowance, spent in advance

// Returns the share of the program's own time that measured cost may take.
RB_INLINE double rb_budget_aim(void)
{
    return (double)rb_options.budget * 1e-6 * RB_AIM;
}

RB_INLINE double rb_budget_start_ns(void)
{
    return (double)rb_options.budget * 1e-6 * RB_START_NS;
}

// Returns the capacity of an account in nanoseconds: the budget of one second.
RB_INLINE double rb_budget_most_ns(void)
{
    return (double)rb_options.budget * 1e3;
}

// ---- bursts (bursts.c) ---------------------------------------------------------------------------------

extern RB_HIDDEN uint32_t rb_burst; // calls of a burst now

// Give a site its next burst and return true, as rb_sites_flip_all expects of its filter.
RB_HIDDEN bool rb_burst_give(struct rb_site *s);
RB_HIDDEN bool rb_burst_give_window(struct rb_site *s); // to gates alone: open until the window ends
// Gives a burst to all sites that are awake after the end of theirs, as sites that cannot be patched now are.
RB_HIDDEN void rb_burst_give_again(void);
// Returns true if the site was called in the window that ends and has no gate to be closed in its place.
RB_HIDDEN bool rb_burst_is_spent(struct rb_site *s);
// Adapts the length of bursts to the budget: longer while some of it is left over, shorter if it ran out.
RB_HIDDEN void rb_burst_resize(void);

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
RB_HIDDEN void rb_episode_end(void);
// Without it, by any thread. Begins an episode for new code, within the limit of debt. Returns false if none may
// begin now.
RB_HIDDEN bool rb_episode_begin_for_new(void);
// Returns true if the episode has spent its share on synchronisation.
RB_HIDDEN bool rb_episode_is_exhausted(void);
RB_HIDDEN int64_t rb_episode_price(void); // the allowance at which one begins
RB_HIDDEN void rb_episode_cut(void);      // ends it before the ticker does

#endif
