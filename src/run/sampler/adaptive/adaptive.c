// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The default sampler: takes cold code first, then as much as budget= allows. docs/explanation/sampling.md derives it.
//
// Terms:
//   site     call of a hook, or gate; asleep while its code is patched off (docs/explanation/sites.md)
//   gate     entry of a function's instrumented copy, switched by a byte (docs/explanation/copies.md)
//   burst    number of calls of a site that are taken before the site sleeps again
//   turn     one run of the ticker
//   window   stretch in which all sites are awake; accesses are counted, then all are taken
//   episode  stretch in which synchronisation is followed
//   pause    stretch outside episodes: no access is taken, no synchronisation followed
//   start    stage after the second thread starts, until half of the start allowance is spent
//
// Nothing can race before the second thread starts: sites sleep at their first call. Then all sites wake. The
// first RB_ALWAYS calls of a site are taken at any allowance, so seldom called code is always sampled.
//
// From then on the ticker spends the earned budget. Each turn it wakes all sites, or a random subset if
// there are too many. The burst has the same length for each: cold code stays awake and is taken
// completely, hot code soon sleeps again. A share of 1/WINDOW_SHARE is saved for windows. They find races
// between two hot sites, and they bound the probability of a missed race.
//
// If following synchronisation alone exceeds the budget, it is followed in episodes. Between them the
// sampler is paused, as with sampler=none, until the next episode is earned.
//
// Both accounts are in ticks of the clock. The ticker adds the budgeted share of the program's own CPU
// time. Threads subtract the measured cost of their accesses and synchronisation.
#include "run/sampler/adaptive/adaptive.h"
#include "inproc/clocks.h"
#include "run/access/access.h"
#include "run/access/address_filter.h"
#include "run/core/arch.h"
#include "run/core/ticker.h"
#include "run/core/upcalls.h"
#include "run/sites/sites.h"

#define LEAST           (4u * RB_COUNTED) // counted accesses that an estimate of their total requires
#define CALL_TICKS      60u               // unmeasured part of a call
#define SYNC_TICKS      20u    // untimed operation: on an object, a heap block, or a line of the history
#define BESIDE          2u     // 1/BESIDE of a cost is added for cache misses of the program
#define PASS_TICKS      20u    // access that the address filter passes over
#define BATCH           20000u // ticks that a thread spends before it charges them
#define LOOK_TICKS      600    // of a look, about
#define MOST_GAP        511u   // between looks at places that cannot be patched, in the mean
#define UNPATCHED_SHARE 4      // 1/UNPATCHED_SHARE of the aim is for those
#define NEW_NS          2e6    // least time between two wake-ups for new code

struct rb_now rb_now __attribute__((aligned(64)));
struct rb_book rb_book;

// Thins accesses by address in the start stage, except while its first quarter is spent.
static void filter_start(int64_t allowance)
{
    if (allowance <= rb_now.start_floor || rb_now.warm)
        rb_filter_end();
    else if (allowance <= rb_now.start_floor * 7 / 4 && !rb_load_relaxed(&rb_filter_number))
        rb_filter_begin(rb_mix64(rb_sampling_process.seed));
}

// ---- sites ---------------------------------------------------------------------------------------------

// Wakes all sites for a new thread or for new code: its races are usually with code that runs soon. Does
// nothing within NEW_NS of the last wake-up, or if the allowance does not cover it.
static RB_NOINLINE void wake_for_new(void)
{
    if (rb_now.threaded && !rb_is_paused() &&
        rb_load_relaxed(&rb_now.allowance) > 8 * (int64_t)rb_book.flip_ticks &&
        rb_arch_ticks() - rb_book.woken_ticks > (uint64_t)(NEW_NS * rb_book.ticks_a_ns))
        rb_adaptive_wake(rb_burst_give);
}

// Gives a new site or gate its first burst.
static void meet_site(struct rb_site *s)
{
    if (RB_LIKELY(s->taken || s->left))
        return;
    rb_burst_give(s);
    wake_for_new();
}

static enum rb_take take_site(struct rb_self *me, struct rb_site *s)
{
    if (s->taken >= RB_CALLS)
        *rb_common_place(s->pc) = s->pc;
    rb_site_count(s);
    rb_gate_looked(me, s);
    return RB_TAKE;
}

static enum rb_take decide_at_site(struct rb_self *me, struct rb_site *s)
{
    meet_site(s);
    if (rb_load_relaxed(&rb_now.mode) == OPEN) {
        s->left = 0;
        return take_site(me, s);
    }
    if (rb_adaptive_is_starting() || (s->taken < RB_ALWAYS && !rb_adaptive_is_overdrawn()))
        return take_site(me, s);
    if (s->left > 1 && s->state == RB_SITE_AWAKE && rb_adaptive_is_open()) {
        s->left--;
        return take_site(me, s);
    }
    s->left = 0;
    rb_site_sleep(me, s);
    return RB_PASS;
}

// Decides whether the thread enters the instrumented copy: at a gate, or at a probe before a branch. A gate
// is treated like a site, with no access to take. The first passes are for the sites behind it, which have
// their own first calls.
static bool decide_at_gate(struct rb_self *me, struct rb_site *s)
{
    const uint32_t mode = rb_load_relaxed(&rb_now.mode);

    me->sampling.ticks += rb_gate_pass(me, s);
    if (rb_now.threaded && (rb_adaptive_taking() || (s->taken < RB_ALWAYS && rb_episode_begin_for_new()))) {
        meet_site(s);
        if (s->taken < RB_ALWAYS) {
            rb_site_count(s);
            return true;
        }
        if (mode == COUNTING || mode == OPEN || rb_adaptive_is_starting()) {
            s->left = mode == OPEN ? 0 : s->left;
            return true;
        }
        if (rb_adaptive_is_open() && s->left > 1) {
            s->left--;
            return true;
        }
    }
    s->left = 0;
    rb_gate_closed(me);
    rb_site_sleep(me, s);
    return false;
}

// ---- the policy ----------------------------------------------------------------------------------------

static int adaptive_init(void)
{
    __builtin_memset(&rb_now, 0, sizeof(rb_now));
    __builtin_memset(&rb_book, 0, sizeof(rb_book));
    rb_filter_end();
    rb_rng_seed(&rb_book.rng, rb_sampling_process.seed ^ 0x5bd1e995u);
    rb_book.started_ns = rb_clock_ns(CLOCK_MONOTONIC);
    rb_book.started_ticks = rb_arch_ticks();
    rb_book.ticks_a_ns = 2.5; // guess until the first turn measures it
    rb_burst = RB_CALLS;
    rb_now.taking = rb_options.record[0] != '\0'; // a trace contains all synchronisation
    rb_process.paused = !rb_now.taking;
    rb_rmw_switch(rb_now.taking);
    rb_ticker_reset_after_fork();
    return 0;
}

// Opens the account with the start allowance.
static void open_account(void)
{
    if (rb_is_paused())
        rb_episode_begin();
    rb_book.turned_ns = rb_clock_ns(CLOCK_MONOTONIC);
    const uint64_t ns = rb_book.turned_ns - rb_book.started_ns;
    if (ns > 1000000)
        rb_book.ticks_a_ns = (double)(rb_arch_ticks() - rb_book.started_ticks) / (double)ns;
    rb_book.cpu_ns = rb_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    rb_now.allowance = (int64_t)(rb_budget_start_ns() * rb_book.ticks_a_ns);
    rb_book.most = (int64_t)(rb_budget_most_ns() * rb_book.ticks_a_ns);
    rb_now.start_floor = rb_now.allowance / 2;
}

// Starts the ticker, then wakes the sites at the second thread: the ticker has left its core by the time
// the new thread needs one.
static void note_threads(void)
{
    if (rb_host.sandboxed)
        return;
    const bool first = !rb_exchange_acq_rel(&rb_now.threaded, true);

    if (first)
        open_account();
    rb_ticker_start(rb_adaptive_turn);
    if (first) {
        rb_adaptive_wake(rb_burst_give);
        rb_watchpoints_open();
    }
}

static void adaptive_spawn(struct rb_self *me)
{
    note_threads();
    rb_sampling_passed(me);
    rb_sampling_grant(me, 0);
    wake_for_new();
}

static uint64_t adaptive_begin_thread(struct rb_self *me)
{
    if (me->id)
        note_threads();
    return 0;
}

// Decides about an atomic, a memcpy or a refused call site. Looks there may take 1/UNPATCHED_SHARE of the
// aim: if the thread comes back before the last one is earned, the gap doubles, else it is halved. The gap is a
// counter of its own, so it hides no cold code.
static enum rb_take decide_at_unpatchable(struct rb_self *me, bool taking)
{
    struct rb_sampling *s = &me->sampling;
    const uint64_t now = rb_arch_ticks();
    const bool taken = taking && rb_adaptive_is_open();

    s->unpatched_gap = now < s->unpatched_due ? 2 * s->unpatched_gap + 1 : s->unpatched_gap / 2;
    if (s->unpatched_gap > MOST_GAP)
        s->unpatched_gap = MOST_GAP;
    s->unpatched_due = now + (uint64_t)(LOOK_TICKS * UNPATCHED_SHARE / rb_budget_aim());
    rb_unpatched_skip =
        rb_adaptive_is_starting() && taken
            ? 0
            : (int64_t)rb_rng_below(&me->rng, 2 * s->unpatched_gap + 1) + (taken ? 0 : RB_GAP);
    return taken ? RB_TAKE : RB_PASS;
}

static enum rb_take adaptive_decide(struct rb_self *me, uintptr_t pc, uint64_t passed, uint64_t *gap)
{
    const uint32_t mode = rb_load_relaxed(&rb_now.mode);
    const bool taking = rb_now.threaded && rb_adaptive_taking();

    if (RB_UNLIKELY(taking && mode == COUNTING))
        return rb_window_count(passed, gap);
    struct rb_site *s = rb_site_at(me, pc);
    *gap = 0;
    if (!rb_site_can_sleep(s))
        return decide_at_unpatchable(me, taking);
    if (RB_UNLIKELY(!taking) && !(s->taken < RB_ALWAYS && rb_episode_begin_for_new())) {
        rb_site_sleep(me, s);
        return RB_PASS;
    }
    if (RB_UNLIKELY(mode == CLOSING && s->taken)) {
        *gap = RB_GAP;
        return RB_PASS;
    }
    if (RB_UNLIKELY(rb_load_relaxed(&rb_filter_number)))
        me->sampling.ticks += passed * PASS_TICKS;
    else
        me->sampling.window += mode == OPEN;
    return decide_at_site(me, s);
}

// Returns the charge for a measured time, with an addition for unmeasured cost to the program.
static uint64_t charge_ticks(uint64_t ticks)
{
    ticks = ticks < RB_LONGEST ? ticks : RB_LONGEST;
    return ticks + ticks / BESIDE;
}

// Charges synchronisation, the cost that only a pause ends.
static void publish_synced(struct rb_sampling *s)
{
    const uint64_t spent = s->sync_ticks;

    if (RB_LIKELY(spent < BATCH))
        return;
    s->sync_ticks = 0;
    rb_fetch_add_relaxed(&rb_now.spent, spent);
    rb_fetch_add_relaxed(&rb_now.synced, spent);
    rb_fetch_sub_relaxed(&rb_now.allowance, (int64_t)spent);
    if (RB_UNLIKELY(rb_episode_is_exhausted()))
        rb_episode_cut();
}

static void charge_access(struct rb_self *me, uint64_t ticks)
{
    struct rb_sampling *s = &me->sampling;

    s->ticks += charge_ticks(ticks > s->away_ticks ? ticks - s->away_ticks : 0) + CALL_TICKS;
    if (RB_UNLIKELY(s->away_ticks)) {
        s->ticks += (uint64_t)((double)s->away_ns * rb_book.ticks_a_ns);
        s->away_ticks = s->away_ns = 0;
    }
    if (RB_LIKELY(s->ticks < BATCH))
        return;
    const int64_t spent = (int64_t)s->ticks;
    s->ticks = 0;
    rb_fetch_add_relaxed(&rb_now.spent, (uint64_t)spent);
    const bool open = rb_load_relaxed(&rb_now.mode) == OPEN;
    const int64_t left = rb_sub_fetch_relaxed(open ? &rb_now.saved : &rb_now.allowance, spent);
    if (!open)
        filter_start(left);
    if (s->window) {
        rb_fetch_add_relaxed(&rb_now.counted, s->window);
        s->window = 0;
    }
    if (open && rb_sub_fetch_relaxed(&rb_now.left, spent) < 0)
        rb_window_end(OPEN);
}

static void charge_operation(struct rb_self *me, uint64_t ticks)
{
    struct rb_sampling *s = &me->sampling;
    const uint64_t operations =
        me->count.acquires + me->count.releases + me->count.blocks + me->count.forgotten;

    s->sync_ticks += charge_ticks(ticks) + SYNC_TICKS * (operations - s->synced);
    s->synced = operations;
    publish_synced(s);
}

static void adaptive_end_thread(struct rb_self *me)
{
    rb_fetch_add_relaxed(&rb_now.spent, me->sampling.ticks + me->sampling.sync_ticks);
}

const struct rb_policy rb_policy_adaptive = {.ops = &rb_sample_adaptive,
                                             .init = adaptive_init,
                                             .begin = adaptive_begin_thread,
                                             .end = adaptive_end_thread,
                                             .next = adaptive_decide,
                                             .gate = decide_at_gate,
                                             .spawn = adaptive_spawn,
                                             .cost = charge_access,
                                             .synced = charge_operation};

void rb_adaptive_summary(struct rb_adaptive_summary *a)
{
    const double spent_ns = (double)rb_load_relaxed(&rb_now.spent) / rb_book.ticks_a_ns;
    const double cpu = (double)rb_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    const double each = rb_book.counted ? rb_book.counted_ns / (double)rb_book.counted : 0;
    const double synced_ns = (double)rb_load_relaxed(&rb_now.synced) / rb_book.ticks_a_ns;
    const double watched_ns = (double)rb_watchpoints_spent() / rb_book.ticks_a_ns;

    *a = (struct rb_adaptive_summary){.episodes = rb_book.episodes,
                                      .windows = rb_book.windows,
                                      .in_windows = rb_book.in_windows};
    if (cpu > spent_ns) {
        a->cost_ppm = (uint64_t)((spent_ns + (double)rb_book.ticker_ns) / (cpu - spent_ns) * 1e6);
        a->sync_ppm = (uint64_t)(synced_ns / (cpu - spent_ns) * 1e6);
        a->watch_ppm = (uint64_t)(watched_ns / (cpu - spent_ns) * 1e6);
    }
    if (each <= 0 || rb_book.counted < LEAST)
        return;
    a->accesses = (uint64_t)(rb_book.own_ns / each);
    const double share = a->accesses ? (double)rb_book.in_windows / (double)a->accesses : 0;
    a->window_ppb = (uint64_t)(share * 1e9);
}
