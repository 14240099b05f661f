// The default: cold code first, and then as much as budget= allows. docs/sampling.md has the mathematics.
//
// Until there is a second thread nothing can race: sites are put to sleep as they are met. Then all are
// woken. A site that is called is taken for a burst and sleeps; so code that runs seldom is always looked at.
// From then on the ticker spends what the budget earns. Each turn it wakes all sites, or some at random if
// there are too many, for a burst of as many calls as the budget allows: the same for each, so code that runs
// seldom stays awake and is taken whole, and hot code is soon asleep again. One part in WINDOW_SHARE is saved
// for windows in which every access is taken, for races of hot code with hot code and for what can be said
// about those that were not found.
//
// Where following synchronisation alone costs more than the budget, it is followed in episodes; between them
// everything rests as with sampler=none, until enough has been earned for the next one.
//
// Both accounts are in ticks of the clock. The ticker adds budget= of what the program itself has used;
// threads take off what their accesses and their synchronisation cost, as measured. Below zero nothing is
// taken but the first calls of a site.
#include "run/sampler/adaptive/adaptive.h"
#include "inproc/clocks.h"
#include "run/access/access.h"
#include "run/access/address_filter.h"
#include "run/core/arch.h"
#include "run/core/ticker.h"
#include "run/core/upcalls.h"
#include "run/sampler/adaptive/budget.h"
#include "run/sampler/adaptive/bursts.h"
#include "run/sites/sites.h"

#define CLOSE_GAP    15u               // while a window closes, and where nothing is taken
#define REST_GAP     255u              // at places that cannot sleep, while all rests
#define LEAST        (4u * RB_COUNTED) // accesses that must have been counted before anything is said of all
#define CALL_TICKS   60u               // of a call that the clock does not see
#define SYNC_TICKS   20u               // of a synchronisation operation that is not timed, or beside what is
#define BLOCK_TICKS  30u               // of a block of the heap that comes or goes
#define FORGET_TICKS 100u              // of a line of memory whose history is forgotten
#define BESIDE       2u                // one part in so many is lost beside: the program's caches
#define PASS_TICKS   20u               // of one that is passed over while accesses are thinned
#define BATCH        20000u            // ticks a thread spends before it tells
#define LONGEST      200000u           // ticks of an access: what is longer was not on a core
#define LONGEST_SYNC 50000u // and of a synchronisation operation, which may wait for another thread
#define NEW_NS       2e6    // between two awakenings for what is new
#define CREDIT_NS    2e7    // and between two when there is nothing left

struct rb_now rb_now __attribute__((aligned(64)));
struct rb_book rb_book;

// Of what is spent at the start, three quarters are spent on accesses that are thinned.
static void thin_start(int64_t allowance)
{
    if (allowance <= rb_now.lavish || rb_now.warm)
        rb_thin_end();
    else if (allowance <= rb_now.lavish + rb_now.lavish * 3 / 4 && !rb_load_relaxed(&rb_thin))
        rb_thin_begin(rb_mix64(rb_sampling_process.seed));
}

// ---- sites ---------------------------------------------------------------------------------------------

// A burst is over. What comes by so seldom that it took long goes on with the next one, as long as there is
// more than a turn's earnings.
static bool goes_on(struct rb_site *s)
{
    return rb_burst_was_slow(s, rb_book.ticks_a_ns) && rb_load_relaxed(&rb_now.allowance) > rb_book.earned &&
           rb_burst_give(s);
}

// Code that has not had its first looks cannot have one now, as all rests and much is owed: it may a little
// later, so a few calls are put up with.
static bool is_patient(struct rb_site *s)
{
    if (!rb_now.threaded || s->taken >= RB_ALWAYS || s->state != RB_SITE_AWAKE)
        return false;
    if (!s->taken && !s->left)
        rb_burst_give_first(s);
    if (s->left <= 1)
        return false;
    s->left--;
    return true;
}

// What is asleep is woken for a new thread, or for code that is new: what it races with is seldom far. Not if
// that was done a moment ago. When nothing is left it is done on credit, for half a millisecond.
static RB_NOINLINE void wake_for_new(void)
{
    const uint64_t ticks = rb_arch_ticks();
    const bool rich = rb_load_relaxed(&rb_now.allowance) > 8 * (int64_t)rb_book.flip_ticks;

    if (!rb_now.threaded || rb_resting() ||
        ticks - rb_book.woken_ticks < (uint64_t)(NEW_NS * rb_book.ticks_a_ns))
        return;
    if (!rich) {
        // Negative: an episode has just begun for what is new.
        const int64_t since = (int64_t)(ticks - rb_load_relaxed(&rb_now.grace));
        if (!rb_now.warm || rb_adaptive_is_overdrawn() ||
            (since >= 0 && since < (int64_t)(CREDIT_NS * rb_book.ticks_a_ns)))
            return;
        rb_adaptive_grant_grace();
    }
    rb_adaptive_wake(rb_burst_give);
}

static enum rb_take at_site(struct rb_self *me, struct rb_site *s)
{
    const uint32_t mode = rb_load_relaxed(&rb_now.mode);

    if (RB_UNLIKELY(!s->taken && !s->left) && rb_burst_give_first(s))
        wake_for_new();
    if (mode == OPEN || rb_adaptive_is_lavish()) {
        if (mode == OPEN)
            s->left = s->given = 0;
        if (s->taken >= RB_BURST_FIRST)
            *rb_common_place(s->pc) = s->pc;
        rb_site_count(s);
        rb_gate_looked(me, s);
        return RB_TAKE;
    }
    if (!rb_adaptive_is_open() && s->taken >= RB_ALWAYS) {
        rb_burst_end(me, s);
        return RB_PASS;
    }
    rb_burst_meet(me, s);
    if (s->left > 1 && s->state == RB_SITE_AWAKE) {
        s->left--;
    } else if (!goes_on(s)) {
        rb_burst_end(me, s);
        if (s->taken >= RB_BURST_FIRST)
            return RB_PASS;
    }
    rb_site_count(s);
    rb_gate_looked(me, s);
    return RB_TAKE;
}

// A function is entered where its hooks are, or a branch goes there: as a site is called, but there is
// nothing to take. The first times are for what is behind it, which decides for itself whether it is new;
// when all that sleeps, it is soon closed.
static bool at_gate(struct rb_self *me, struct rb_site *s)
{
    const uint32_t mode = rb_load_relaxed(&rb_now.mode);
    const bool taking = rb_now.threaded && rb_adaptive_taking();
    const struct rb_gate_pass pass = rb_gate_pass(me, s, rb_book.ticks_a_ns);

    me->sampling.ticks += pass.ticks;
    me->sampling.behind = true;
    if (RB_UNLIKELY(!s->taken && !s->left) && rb_burst_give_first(s)) {
        rb_now.gated = true;
        wake_for_new();
    }
    if (s->taken < RB_ALWAYS && rb_now.threaded) {
        if (taking || rb_episode_may_begin(s->taken)) {
            rb_site_count(s);
            return true;
        }
        if (is_patient(s)) {
            rb_gate_closed(me);
            me->sampling.behind = rb_site_is_gate(s);
            return false;
        }
    }
    if (taking && (mode == COUNTING || mode == OPEN || rb_adaptive_is_lavish())) {
        s->left = mode == OPEN ? 0 : s->left;
        return true;
    }
    if (pass.idle)
        s->left = s->slow ? 0 : s->left / 4;
    rb_burst_meet(me, s);
    if (taking && rb_adaptive_is_open() && s->left > 1) {
        s->left--;
        return true;
    }
    if (taking && !pass.idle && goes_on(s))
        return true;
    s->left = 0;
    rb_gate_closed(me);
    me->sampling.behind = rb_site_is_gate(s); // once more
    rb_site_sleep(me, s);
    return false;
}

// ---- the policy ----------------------------------------------------------------------------------------

static int adaptive_init(void)
{
    __builtin_memset(&rb_now, 0, sizeof(rb_now));
    __builtin_memset(&rb_book, 0, sizeof(rb_book));
    rb_thin_end();
    rb_rng_seed(&rb_book.rng, rb_sampling_process.seed ^ 0x5bd1e995u);
    rb_book.started_ns = rb_clock_ns(CLOCK_MONOTONIC);
    rb_book.started_ticks = rb_arch_ticks();
    rb_book.ticks_a_ns = 2.5; // until the first turn knows better
    rb_burst = RB_BURST_FIRST;
    rb_now.taking = rb_options.record[0] != '\0'; // a trace has all synchronisation
    rb_process.rests = !rb_now.taking;
    rb_ticker_reset_after_fork();
    return 0;
}

// Opens the account with what the start is given.
static void open_account(void)
{
    if (rb_resting())
        rb_episode_begin();
    rb_book.turned_ns = rb_clock_ns(CLOCK_MONOTONIC);
    const uint64_t ns = rb_book.turned_ns - rb_book.started_ns;
    if (ns > 1000000)
        rb_book.ticks_a_ns = (double)(rb_arch_ticks() - rb_book.started_ticks) / (double)ns;
    rb_book.cpu_ns = rb_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    rb_now.allowance = rb_book.debt = (int64_t)(rb_budget_given_ns(rb_sites_count()) * rb_book.ticks_a_ns);
    rb_book.most = (int64_t)(rb_budget_most_ns() * rb_book.ticks_a_ns);
    rb_now.lavish = rb_now.allowance / 2;
}

// The ticker begins before the sites are woken: it has left its core by the time the new thread needs one.
static void have_threads(void)
{
    if (rb_host.sandboxed)
        return;
    const bool first = !rb_exchange_acq_rel(&rb_now.threaded, true);

    if (first)
        open_account();
    rb_ticker_start(rb_adaptive_turn);
    if (first) {
        rb_adaptive_wake(rb_burst_give_first);
        rb_watchpoints_open();
    }
}

static void adaptive_spawn(struct rb_self *me)
{
    have_threads();
    rb_sampling_passed(me);
    rb_sampling_grant(me, 0);
    wake_for_new();
}

static uint64_t adaptive_begin_thread(struct rb_self *me)
{
    if (me->id)
        have_threads();
    return 0;
}

static enum rb_take at_odd_place(struct rb_self *me)
{
    const bool taken = rb_now.threaded && rb_adaptive_is_open();

    rb_odd_ask(me, taken, rb_adaptive_is_lavish() || rb_load_relaxed(&rb_now.mode) == OPEN, rb_budget_aim());
    return taken ? RB_TAKE : RB_PASS;
}

static enum rb_take adaptive_decide(struct rb_self *me, uintptr_t pc, uint64_t passed, uint64_t *gap)
{
    const uint32_t mode = rb_load_relaxed(&rb_now.mode);

    if (RB_UNLIKELY(!rb_adaptive_taking())) {
        struct rb_site *s = rb_site_at(me, pc);
        if (!rb_site_can_sleep(s) || s->state != RB_SITE_AWAKE || !rb_episode_rouse(s->taken)) {
            if (rb_site_can_sleep(s) && is_patient(s)) {
                *gap = 0;
                return RB_PASS;
            }
            *gap = rb_now.threaded && !rb_adaptive_is_overdrawn() ? 0 : CLOSE_GAP;
            rb_odd_skip = rb_site_sleep(me, s) ? rb_odd_skip : REST_GAP;
            return RB_PASS;
        }
    }
    if (RB_UNLIKELY(mode == COUNTING))
        return rb_window_count(passed, gap);
    *gap = 0;
    struct rb_site *s = rb_site_at(me, pc);
    if (RB_UNLIKELY(mode == CLOSING) && (!s || s->taken)) {
        *gap = CLOSE_GAP;
        return RB_PASS;
    }
    if (!rb_site_can_sleep(s))
        return at_odd_place(me);
    if (RB_UNLIKELY(!rb_now.threaded || rb_adaptive_is_overdrawn()) &&
        mode != OPEN) { // nothing is taken: ask less often
        rb_burst_end(me, s);
        *gap = CLOSE_GAP;
        return RB_PASS;
    }
    if (RB_UNLIKELY(rb_load_relaxed(&rb_thin)))
        me->sampling.ticks += passed * PASS_TICKS;
    else
        me->sampling.window += mode == OPEN;
    return at_site(me, s);
}

static size_t piece_bytes(void)
{
    return rb_adaptive_is_lavish() ? 8 * RB_PIECE : RB_PIECE;
}

// What is taken off for what was measured: the clock does not see what the program loses beside it.
static uint64_t charge_ticks(uint64_t ticks, uint64_t longest)
{
    ticks = ticks < longest ? ticks : longest;
    return ticks + ticks / BESIDE;
}

// Synchronisation, and what is passed over at places that cannot sleep: neither ends before all rests.
static void tell_synced(struct rb_sampling *s)
{
    const uint64_t spent = s->sync_ticks;

    if (RB_LIKELY(spent < BATCH))
        return;
    s->sync_ticks = 0;
    rb_fetch_add_relaxed(&rb_now.spent, spent);
    const uint64_t synced = rb_add_fetch_relaxed(&rb_now.synced, spent);
    const int64_t left = rb_sub_fetch_relaxed(&rb_now.allowance, (int64_t)spent);
    const uint64_t brief = rb_load_relaxed(&rb_now.brief);
    if (RB_UNLIKELY(brief ? synced > brief && left < rb_episode_price() : rb_episode_is_exhausted()))
        rb_episode_cut();
}

static void charge_access(struct rb_self *me, uint64_t ticks)
{
    struct rb_sampling *s = &me->sampling;

    if (RB_UNLIKELY(s->odd_asked)) {
        rb_odd_answer(me, ticks < LONGEST ? ticks : LONGEST, rb_budget_aim());
        tell_synced(s); // there may be no synchronisation to tell it with
    }
    s->ticks += charge_ticks(ticks > s->away_ticks ? ticks - s->away_ticks : 0, LONGEST) + CALL_TICKS;
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
        thin_start(left);
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
    const uint64_t operations = me->count.acquires + me->count.releases;

    s->sync_ticks += charge_ticks(ticks, LONGEST_SYNC) + SYNC_TICKS * (operations - s->synced) +
                     BLOCK_TICKS * (me->count.blocks - s->blocks) +
                     FORGET_TICKS * (me->count.forgotten - s->forgotten);
    s->synced = operations;
    s->blocks = me->count.blocks;
    s->forgotten = me->count.forgotten;
    tell_synced(s);
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
                                             .piece = piece_bytes,
                                             .gate = at_gate,
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
