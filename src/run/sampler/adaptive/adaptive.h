// The parts of the adaptive sampler, for each other: the questions and accounts of threads
// (adaptive.c), windows in which every site is awake (windows.c), episodes in which
// synchronisation is followed (episodes.c), and the ticker, which spends what the budget earns
// (accounts.c). docs/sampling.md.
#ifndef RB_RUN_SAMPLER_ADAPTIVE_ADAPTIVE_H
#define RB_RUN_SAMPLER_ADAPTIVE_ADAPTIVE_H

#include "run/core/arch.h"
#include "run/sampler/sampling.h"
#include "run/sites/sites.h"
#include "run/sync/waiting.h"

#define RB_ALWAYS          4u     // first calls of a site, or a gate, that are taken whatever the allowance
#define RB_COUNTED         16384u // accesses that are counted before a window
#define RB_GRACE_NS        5e5    // accesses are taken for what is new when nothing is left
#define RB_EPISODE_SHARE   8      // of what an account may hold, one part in so many is enough for an episode
#define RB_OVERDRAFT_SHARE 6      // of what an account may hold, one part in so many may be owed for new code

// QUIET: bursts only. COUNTING, then OPEN: every site is awake. CLOSING: first calls only, until the ticker
// has put them to sleep.
enum mode { QUIET, COUNTING, OPEN, CLOSING };

// Written by all threads.
extern RB_HIDDEN struct rb_now {
    int64_t allowance; // ticks, for bursts
    int64_t saved;     // ticks, for windows
    uint64_t spent;    // ticks
    int64_t left;      // of the window: accesses while counting, ticks while open
    uint64_t counted;  // accesses of the window
    uint32_t mode;
    bool warm;       // the start is over
    int64_t lavish;  // half of what was given to begin with
    uint64_t synced; // ticks, of those spent, on synchronisation
    bool taking;     // accesses; never while all rests
    bool gated;      // there are gates
    uint64_t grace;  // ticks of the clock until which the allowance does not matter
    uint64_t brief;  // the episode is for new code alone and ends when so much is synced; 0: it is not
    bool threaded;   // there has been a second thread; until then all rests
} rb_now;

// Written by the ticker, or by whoever ends a window.
extern RB_HIDDEN struct rb_book {
    double ticks_a_ns;
    uint64_t started_ns, started_ticks;
    uint64_t cpu_ns;     // of the process, at the last turn
    uint64_t seen_spent; // at the last turn
    uint64_t ticker_ns;  // of tickers, all in all
    uint64_t turn_ns;    // of the ticker that runs, at its last turn
    uint64_t turned_ns;  // when that was
    uint64_t opened_ns;  // when the window began
    uint64_t count_cpu;  // CPU time of the process then
    double own_ns;       // of the program itself, all in all
    double counted_ns;   // of the program while counting
    uint64_t counted;    // accesses then
    uint64_t in_windows; // accesses taken in windows
    uint64_t windows;
    uint64_t flip_ticks;    // the last time all were woken
    uint64_t woken_ticks;   // when
    int64_t earned;         // ticks, in the last turn
    int64_t most;           // ticks that an account may hold
    uint64_t seen_synced;   // at the last turn
    int64_t synced;         // in the last turn
    uint64_t episode_from;  // synced before this episode
    int64_t episode_earned; // ticks in it, before the ticker was paid
    int64_t debt;           // ticks given to begin with and not yet paid back
    uint64_t episodes;
    int64_t wake_cost, all_cost; // ticks spent in the turn after some were woken, and all, the last time
    bool woke, woke_all;         // in the last turn
    bool ahead;                  // gates were opened for the window to come
    bool asks;                   // all rests only to see what is usual then
    double pace;                 // ticks earned in a TURN, as in the last one
    uint32_t idle_turns, lonely_turns, wakes;
    struct rb_rng rng;
    struct rb_waiting wait;
    rb_spin changing; // between rest and episode
} rb_book;

RB_INLINE bool rb_adaptive_is_open(void)
{
    if (rb_load_relaxed(&rb_now.allowance) >= 0)
        return true;
    const uint64_t grace = rb_load_relaxed(&rb_now.grace);
    return RB_UNLIKELY(grace) && (int64_t)(grace - rb_arch_ticks()) > 0;
}

// For new code: half a millisecond on credit.
RB_INLINE void rb_adaptive_grant_grace(void)
{
    const uint64_t until = rb_arch_ticks() + (uint64_t)(RB_GRACE_NS * rb_book.ticks_a_ns);

    rb_store_relaxed(&rb_now.grace, until);
}

// So much was spent on new code that it has to wait as well: it sleeps untouched until all are woken.
RB_INLINE bool rb_adaptive_is_overdrawn(void)
{
    return rb_load_relaxed(&rb_now.allowance) < -rb_book.most / RB_OVERDRAFT_SHARE;
}

// At the start everything is taken while there is more than half of what was given.
RB_INLINE bool rb_adaptive_is_lavish(void)
{
    return !rb_now.warm && rb_load_relaxed(&rb_now.allowance) > rb_now.lavish;
}

// Sites that sleep, as `give` says; NULL: all.
RB_HIDDEN void rb_adaptive_wake(bool (*give)(struct rb_site *s));
RB_HIDDEN uint64_t rb_adaptive_turn(void); // of the ticker
// Ends sampling for good: without the ticker nothing is earned. All rests, and sites sleep.
RB_HIDDEN void rb_adaptive_pause(void);

RB_HIDDEN bool rb_window_is_ahead(void);
RB_HIDDEN void rb_window_open(void);
RB_HIDDEN enum rb_take rb_window_count(uint64_t passed, uint64_t *gap);
RB_HIDDEN void rb_window_end(uint32_t from); // nothing more is taken for it
RB_HIDDEN void rb_window_close(void);        // its sites are put to sleep

// With rb_book.changing held.
RB_HIDDEN void rb_episode_begin(void);
RB_HIDDEN void rb_episode_resume(void); // one that was ended only to see what is usual
RB_HIDDEN void rb_episode_end(void);
// By whoever comes to it.
RB_HIDDEN bool rb_episode_is_exhausted(void);
RB_HIDDEN int64_t rb_episode_price(void); // what must have been earned for one
RB_HIDDEN bool rb_episode_may_begin(uint16_t taken);
RB_HIDDEN bool rb_episode_rouse(uint16_t taken);
RB_HIDDEN void rb_episode_cut(void);

#endif
