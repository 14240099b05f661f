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
#include "rt/access.h"
#include "rt/arch.h"
#include "rt/bursts.h"
#include "rt/clock.h"
#include "rt/footprint.h"
#include "rt/gates.h"
#include "rt/history.h"
#include "rt/init.h"
#include "rt/odd.h"
#include "rt/record.h"
#include "rt/sampling.h"
#include "rt/sites.h"
#include "rt/ticker.h"
#include "rt/waiting.h"
#include "rt/watchpoints.h"

#define ALWAYS          4u     // first calls of a site, or a gate, that are taken whatever the allowance
#define MOST_BURST      4096u  // calls
#define ALL_TURNS       8u     // every so many turns what sleeps is woken, else what is behind gates alone
#define CLOSE_GAP       15u    // while a window closes, and where nothing is taken
#define REST_GAP        255u   // at places that cannot sleep, while all rests
#define COUNT_GAP       31u    // while counting; what is left of it afterwards hides first calls
#define COUNTED         16384u // accesses that are counted before a window
#define LEAST           (4u * COUNTED) // accesses that must have been counted before anything is said of all
#define CALL_TICKS      60u            // of a call that the clock does not see
#define SYNC_TICKS      20u            // of a synchronisation operation that is not timed, or beside what is
#define BLOCK_TICKS     30u            // of a block of the heap that comes or goes
#define FORGET_TICKS    100u           // of a line of memory whose history is forgotten
#define BESIDE          2u             // one part in so many is lost beside: the program's caches
#define AIM             0.7            // of the budget: the rest is for runs that end in debt
#define UNSEEN          0.015          // of the program's time is lost to what nobody counts
#define LEAST_AIM       0.4            // of the budget, however small it is
#define BATCH           20000u         // ticks a thread spends before it tells
#define LONGEST         200000u        // ticks of an access: what is longer was not on a core
#define LONGEST_SYNC    50000u    // and of a synchronisation operation, which may wait for another thread
#define TURN            10000000u // nanoseconds
#define SHORT_TURN      1000000u
#define IDLE_TURN       100000000u
#define DEAR_NS         1e5 // of synchronisation in a turn, before that is worth short ones
#define WINDOW_AGE      20000000u
#define NEW_NS          2e6  // between two awakenings for what is new
#define CREDIT_NS       2e7  // and between two when there is nothing left
#define GRACE_NS        5e5  // and how long accesses are taken then
#define WAKES           256u // sites that are woken at once
#define DEBT_SHARE      2    // of what comes in, one part in so many pays back what was given to begin with
#define EPISODE_SHARE   8    // of what an account may hold, one part in so many is enough for an episode
#define WAKE_SHARE      32   // and is waited for, at most, before some are woken: else the hot ones take all
#define OVERDRAFT_SHARE 6    // of what an account may hold, one part in so many may be owed for new code
#define WINDOW_SHARE    4    // of what is earned, one part in so many is for windows
#define START_NS        4000000u // for each per cent: what it may spend before it has earned anything; paid back
#define MOST_START_NS   20000000u
#define WARM_NS         5e7 // of the program itself, before the first window: until then bursts see everything new
#define GATED_NS        4.5 // of a call that is only counted, one in COUNT_GAP + 1 of them by a question

// QUIET: bursts only. COUNTING, then OPEN: every site is awake. CLOSING: first calls only, until the ticker
// has put them to sleep.
enum mode { QUIET, COUNTING, OPEN, CLOSING };

// Written by all threads.
static struct {
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
} now __attribute__((aligned(64)));
static rb_spin changing; // between rest and episode
static bool threaded;    // there has been a second thread; until then all rests

// Written by the ticker, or by whoever ends a window.
static struct {
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
    uint64_t flip_ticks;                    // the last time all were woken
    uint64_t woken_ticks;                   // when
    int64_t earned;                         // ticks, in the last turn
    int64_t most;                           // ticks that an account may hold
    uint64_t seen_synced;                   // at the last turn
    int64_t synced;                         // in the last turn
    int64_t episode_synced, episode_earned; // ticks, in this episode; earned before the ticker was paid
    int64_t debt;                           // ticks given to begin with and not yet paid back
    uint64_t episodes;
    int64_t wake_cost, all_cost; // ticks spent in the turn after some were woken, and all, the last time
    bool woke, woke_all;         // in the last turn
    bool ahead;                  // gates were opened for the window to come
    bool asks;                   // all rests only to see what is usual then
    double pace;                 // ticks earned in a TURN, as in the last one
    uint32_t idle_turns, lonely_turns, wakes;
    struct rb_rng rng;
    struct rb_waiting wait;
} book;

static bool is_open(void)
{
    return __atomic_load_n(&now.allowance, __ATOMIC_RELAXED) >= 0 ||
           (RB_UNLIKELY(now.grace) && (int64_t)(now.grace - rb_arch_ticks()) > 0);
}

// So much was spent on new code that it has to wait as well: it sleeps untouched until all are woken.
static bool is_overdrawn(void)
{
    return __atomic_load_n(&now.allowance, __ATOMIC_RELAXED) < -book.most / OVERDRAFT_SHARE;
}

// At the start everything is taken while there is more than half of what was given.
static bool is_lavish(void)
{
    return !now.warm && __atomic_load_n(&now.allowance, __ATOMIC_RELAXED) > now.lavish;
}

// ---- sites ---------------------------------------------------------------------------------------------

static void wake_all(bool (*give)(struct rb_site *s))
{
    const uint64_t start = rb_arch_ticks();

    rb_sites_flip_all(give, RB_SITE_AWAKE);
    if (give)
        rb_burst_give_again();
    book.woken_ticks = rb_arch_ticks();
    if (give != rb_burst_give_gate)
        book.flip_ticks = book.woken_ticks - start;
}

// A burst is over. What comes by so seldom that it took long goes on with the next one, as long as there is
// more than a turn's earnings.
static bool goes_on(struct rb_site *s)
{
    return rb_burst_was_slow(s, book.ticks_a_ns) &&
           __atomic_load_n(&now.allowance, __ATOMIC_RELAXED) > book.earned && rb_burst_give(s);
}

// What is asleep is woken for a new thread, or for code that is new: what it races with is seldom far. Not if
// that was done a moment ago. When nothing is left it is done on credit, for half a millisecond.
static RB_NOINLINE void wake_for_new(void)
{
    const uint64_t ticks = rb_arch_ticks();
    const bool rich = __atomic_load_n(&now.allowance, __ATOMIC_RELAXED) > 8 * (int64_t)book.flip_ticks;

    if (!threaded || rb_resting() || ticks - book.woken_ticks < (uint64_t)(NEW_NS * book.ticks_a_ns))
        return;
    if (!rich) {
        if (!now.warm || is_overdrawn() || ticks - now.grace < (uint64_t)(CREDIT_NS * book.ticks_a_ns))
            return;
        now.grace = ticks + (uint64_t)(GRACE_NS * book.ticks_a_ns);
    }
    wake_all(rb_burst_give);
}

static enum rb_take at_site(struct rb_self *me, struct rb_site *s)
{
    const uint32_t mode = __atomic_load_n(&now.mode, __ATOMIC_RELAXED);

    if (RB_UNLIKELY(!s->taken && !s->left) && rb_burst_give_first(s))
        wake_for_new();
    if (mode == OPEN || is_lavish()) {
        if (mode == OPEN)
            s->left = s->given = 0;
        rb_site_count(s);
        rb_gate_looked(me, s);
        return RB_TAKE;
    }
    if (!is_open() && s->taken >= ALWAYS) {
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
    const uint32_t mode = __atomic_load_n(&now.mode, __ATOMIC_RELAXED);
    const bool taking = threaded && rb_adaptive_taking();
    const struct rb_gate_pass pass = rb_gate_pass(me, s, book.ticks_a_ns);

    me->sampling.ticks += pass.ticks;
    me->sampling.behind = true;
    if (RB_UNLIKELY(!s->taken && !s->left) && rb_burst_give_first(s)) {
        now.gated = true;
        wake_for_new();
    }
    if (s->taken < ALWAYS && threaded) {
        rb_site_count(s);
        return true;
    }
    if (taking && (mode == COUNTING || mode == OPEN || is_lavish())) {
        s->left = mode == OPEN ? 0 : s->left;
        return true;
    }
    if (pass.idle)
        s->left = s->slow ? 0 : s->left / 4;
    rb_burst_meet(me, s);
    if (taking && is_open() && s->left > 1) {
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

// ---- windows -------------------------------------------------------------------------------------------

static void end_window(uint32_t from)
{
    __atomic_compare_exchange_n(&now.mode, &from, CLOSING, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

// A window takes as much as there is, half of it at most kept back, and four times what it takes to wake
// everybody.
static int64_t window_ticks(void)
{
    const int64_t half = __atomic_load_n(&now.saved, __ATOMIC_RELAXED) / 2;
    const int64_t least = 4 * (int64_t)book.flip_ticks;

    return half > least ? half : least;
}

// The thread whose accesses were the last that had to be counted.
static RB_NOINLINE void end_counting(void)
{
    uint32_t mode = COUNTING;

    if (!__atomic_compare_exchange_n(&now.mode, &mode, CLOSING, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    const uint64_t n = __atomic_load_n(&now.counted, __ATOMIC_RELAXED);
    const double ns = (double)(rb_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - book.count_cpu) - (double)n * GATED_NS;
    book.counted += n;
    book.counted_ns += ns > 0 ? ns : 0;
    __atomic_store_n(&now.left, window_ticks(), __ATOMIC_RELAXED);
    __atomic_store_n(&now.counted, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&now.mode, OPEN, __ATOMIC_RELEASE);
}

static enum rb_take count(uint64_t passed, uint64_t *gap)
{
    *gap = COUNT_GAP;
    if (passed > COUNT_GAP)
        __atomic_fetch_add(&now.counted, passed, __ATOMIC_RELAXED);
    if (__atomic_sub_fetch(&now.left, (int64_t)passed, __ATOMIC_RELAXED) < 0)
        end_counting();
    return RB_PASS;
}

// A thread that is in a body without hooks comes to the next gate first; what it does until then would not be
// counted.
static bool is_ahead(void)
{
    struct rb_site_counts counts;

    if (book.ahead)
        return true;
    rb_sites_counts(&counts);
    if (!counts.gates)
        return true;
    rb_sites_flip_all(rb_burst_give_window, RB_SITE_AWAKE);
    book.ahead = true;
    return false;
}

static void open_window(void)
{
    book.ahead = false;
    wake_all(NULL);
    now.left = COUNTED;
    now.counted = 0;
    book.opened_ns = rb_clock_ns(CLOCK_MONOTONIC);
    book.count_cpu = rb_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    book.windows++;
    __atomic_store_n(&now.mode, COUNTING, __ATOMIC_RELEASE);
}

static void close_window(void)
{
    book.in_windows += __atomic_exchange_n(&now.counted, 0, __ATOMIC_RELAXED);
    rb_sites_flip_all(rb_burst_is_spent, RB_SITE_ASLEEP);
    __atomic_store_n(&now.mode, QUIET, __ATOMIC_RELEASE);
}

// ---- episodes ------------------------------------------------------------------------------------------

// In this order: docs/runtime.md, section 3.
static void end_rest(void)
{
    __atomic_store_n(&rb_process.rests, false, __ATOMIC_RELEASE);
    rb_history_forget_all();
    __atomic_store_n(&now.taking, true, __ATOMIC_RELEASE);
    book.episodes++;
    book.episode_synced = book.episode_earned = 0;
}

static void begin_rest(void)
{
    __atomic_store_n(&now.taking, false, __ATOMIC_RELEASE);
    __atomic_store_n(&rb_process.rests, true, __ATOMIC_RELEASE);
    rb_watchpoints_rest();
}

bool rb_adaptive_taking(void)
{
    return __atomic_load_n(&now.taking, __ATOMIC_ACQUIRE);
}

bool rb_adaptive_affords(void)
{
    return rb_adaptive_taking() && __atomic_load_n(&now.allowance, __ATOMIC_RELAXED) > 0;
}

// More was spent than there was, and of what the episode had most went to synchronisation.
static bool is_exhausted(void)
{
    return !is_open() && 2 * book.episode_synced > book.episode_earned + book.most / EPISODE_SHARE &&
           !rb_recording;
}

// New code is met while all rests: the other half of a race is seldom far. So following begins at once, for
// what is new alone; it is paid for in advance, within limits. False: not now.
static bool is_roused(void)
{
    if (!threaded || __atomic_load_n(&now.allowance, __ATOMIC_RELAXED) < -book.most / 2 ||
        __atomic_load_n(&book.wait.unknown, __ATOMIC_RELAXED) || !rb_spin_try(&changing))
        return false;
    if (rb_resting())
        end_rest();
    rb_spin_unlock(&changing);
    return true;
}

// The ticker is late, and synchronisation is dear: what is owed must not grow until it comes. Sites go to
// sleep as they are met.
static RB_NOINLINE void rest_early(void)
{
    if (rb_recording || !rb_spin_try(&changing))
        return;
    if (!rb_resting())
        begin_rest();
    rb_spin_unlock(&changing);
}

// What must have been earned for an episode.
static int64_t enough(void)
{
    const int64_t least = 8 * (int64_t)book.flip_ticks, share = book.most / EPISODE_SHARE;

    return least > share ? least : share;
}

// The share of the program's own time that may be spent on what is counted.
static double aim(void)
{
    const double budget = (double)rb_options.budget * 1e-6, most = budget * AIM - UNSEEN;

    return most > budget * LEAST_AIM ? most : budget * LEAST_AIM;
}

static double start_ns(void)
{
    const double ns = (double)rb_options.budget * 1e-4 * START_NS;

    return ns < MOST_START_NS ? ns : MOST_START_NS;
}

// ---- the ticker ----------------------------------------------------------------------------------------

// `income` is the budget's share of what the program used, `cost` what the ticker did.
static void pay_in(int64_t income, int64_t cost)
{
    const uint64_t synced = __atomic_load_n(&now.synced, __ATOMIC_RELAXED);
    const int64_t back = book.debt < income / DEBT_SHARE ? book.debt : income / DEBT_SHARE;

    book.synced = (int64_t)(synced - book.seen_synced);
    book.seen_synced = synced;
    book.episode_synced += book.synced;
    book.episode_earned += income;
    book.debt -= back;
    book.earned = income - back - cost;
    const int64_t saved = rb_resting() ? 0 : book.earned / WINDOW_SHARE; // there are none while all rests
    if (__atomic_add_fetch(&now.saved, saved, __ATOMIC_RELAXED) > book.most)
        __atomic_store_n(&now.saved, book.most, __ATOMIC_RELAXED);
    if (__atomic_add_fetch(&now.allowance, book.earned - saved, __ATOMIC_RELAXED) > book.most)
        __atomic_store_n(&now.allowance, book.most, __ATOMIC_RELAXED);
    rb_watchpoints_turn(income, is_open() && now.taking);
}

// What the program used since the last turn, and the allowance that comes of it. False: it did next to
// nothing.
static bool earn(void)
{
    const uint64_t cpu = rb_clock_ns(CLOCK_PROCESS_CPUTIME_ID), ticker = rb_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    const uint64_t turns_ns =
        ticker < book.turn_ns ? ticker : ticker - book.turn_ns; // a new ticker begins at 0
    const uint64_t spent = __atomic_load_n(&now.spent, __ATOMIC_RELAXED);
    const uint64_t real_ns = rb_clock_ns(CLOCK_MONOTONIC);
    const double real = (double)(real_ns - book.started_ns);
    const double share = aim();

    if (real > 0)
        book.ticks_a_ns = (double)(rb_arch_ticks() - book.started_ticks) / real;
    if (book.woke)
        book.wake_cost = (int64_t)(spent - book.seen_spent);
    if (book.woke_all)
        book.all_cost = book.wake_cost;
    book.woke = book.woke_all = false;
    const double ours_ns = (double)(spent - book.seen_spent) / book.ticks_a_ns + (double)turns_ns;
    double own_ns = (double)(cpu - book.cpu_ns) - ours_ns;
    if (own_ns < 0)
        own_ns = 0;
    const double waiting = rb_waiting_turn(&book.wait, own_ns, book.own_ns, book.episodes);
    const uint64_t waited = (uint64_t)(waiting * book.ticks_a_ns);
    __atomic_fetch_add(&now.spent, waited, __ATOMIC_RELAXED);
    __atomic_fetch_add(&now.synced, waited, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&now.allowance, (int64_t)waited, __ATOMIC_RELAXED);
    own_ns -= waiting;
    book.own_ns += own_ns;
    now.warm = book.own_ns > WARM_NS;
    book.cpu_ns = cpu;
    book.seen_spent = spent + waited;
    const int64_t cost = (int64_t)((double)turns_ns * book.ticks_a_ns);
    book.turn_ns = ticker;
    book.ticker_ns += turns_ns;
    book.most = (int64_t)(((double)rb_options.budget * AIM * 1e3 + start_ns()) * book.ticks_a_ns);
    pay_in((int64_t)(own_ns * share * book.ticks_a_ns), cost);
    const double passed = (double)(real_ns - book.turned_ns);
    book.pace = passed > 0 ? (double)book.earned * TURN / passed : 0;
    book.turned_ns = real_ns;
    return own_ns > passed / 100;
}

// Bursts are as long as the budget allows: they grow while some of it is left over, and shrink when it was
// too little.
static void size_bursts(void)
{
    const int64_t allowance = __atomic_load_n(&now.allowance, __ATOMIC_RELAXED);
    uint32_t burst = rb_burst;

    if (allowance < book.earned && burst > RB_BURST_LEAST)
        burst -= burst / 4;
    else if (allowance > 2 * book.earned && burst < MOST_BURST)
        burst += burst / 4 + 1;
    rb_burst = burst;
}

// All that sleep, if that is cheap, or some that are drawn at random, with the gates in front of them.
static void wake_some(void)
{
    struct rb_site *list[2 * WAKES];
    const uint32_t sites = rb_sites_count();
    uint32_t count = 0;

    const bool all = !now.gated || ++book.wakes % ALL_TURNS == 0 ||
                     __atomic_load_n(&now.allowance, __ATOMIC_RELAXED) > 4 * book.all_cost;

    size_bursts();
    if (sites <= WAKES || 8 * (int64_t)book.flip_ticks < book.earned) {
        wake_all(all ? rb_burst_give : rb_burst_give_gate);
        book.woke_all = all;
        book.woke = true;
        return;
    }
    for (uint32_t i = 0; i < WAKES; i++) {
        struct rb_site *s = rb_site_number((uint32_t)rb_rng_below(&book.rng, sites));
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

// When there is nothing to do until so much has been earned, the ticker sleeps half of the time that this
// takes at the pace of the last turn: each of its turns interrupts the program, whose threads may hold locks.
static uint64_t until_earned(int64_t ticks)
{
    const int64_t missing = ticks - __atomic_load_n(&now.allowance, __ATOMIC_RELAXED);
    const double turns = book.pace > 0 ? (double)missing / book.pace / 2 : 0;
    const double ns = turns > 1 ? turns * TURN : TURN;

    return ns < IDLE_TURN ? (uint64_t)ns : IDLE_TURN;
}

// Ends an episode, or begins one. True: all rests.
static bool rest_or_not(void)
{
    bool rests, changes;

    rb_spin_lock(&changing);
    rests = rb_resting();
    const bool rested = book.asks || __atomic_load_n(&now.allowance, __ATOMIC_RELAXED) > enough();
    changes = rests ? rested && !book.wait.unknown : is_exhausted() || book.wait.unknown;
    if (changes)
        book.asks = !rests && !is_exhausted();
    if (changes && rests)
        end_rest();
    else if (changes)
        begin_rest();
    if (changes)
        rb_waiting_change(&book.wait, book.episodes, rests);
    rb_spin_unlock(&changing);
    if (changes && rests)
        wake_all(rb_burst_give);
    else if (changes)
        rb_sites_flip_all(NULL, RB_SITE_ASLEEP);
    return rests != changes;
}

static uint64_t turn(void)
{
    const uint32_t mode = __atomic_load_n(&now.mode, __ATOMIC_ACQUIRE);
    const bool busy = earn();

    if (mode == COUNTING || mode == OPEN) {
        if (rb_clock_ns(CLOCK_MONOTONIC) - book.opened_ns < WINDOW_AGE)
            return SHORT_TURN;
        end_window(mode);
        return SHORT_TURN;
    }
    if (mode == CLOSING)
        close_window();
    if (__atomic_load_n(&rb_sampling_process.alive, __ATOMIC_RELAXED) > 1)
        book.lonely_turns = 0;
    else if (++book.lonely_turns > 2)
        return RB_TICKER_END;
    if (!busy)
        return ++book.idle_turns > 10 ? IDLE_TURN : TURN;
    book.idle_turns = 0;
    if (rest_or_not())
        return book.wait.unknown ? TURN : until_earned(enough());
    const int64_t window = (int64_t)(1e6 * book.ticks_a_ns) + 4 * (int64_t)book.flip_ticks;
    if (now.warm && __atomic_load_n(&now.saved, __ATOMIC_RELAXED) > 2 * window) {
        if (is_ahead())
            open_window();
        return SHORT_TURN;
    }
    const bool dear = book.synced > (int64_t)(DEAR_NS * book.ticks_a_ns) && book.synced > book.earned;
    const int64_t most = book.most / WAKE_SHARE, needed = book.wake_cost < most ? book.wake_cost : most;
    if (__atomic_load_n(&now.allowance, __ATOMIC_RELAXED) >= needed) {
        wake_some();
    } else {
        size_bursts();
        if (!dear)
            return until_earned(needed);
    }
    return dear ? SHORT_TURN : TURN; // soon exhausted
}

// ---- the policy ----------------------------------------------------------------------------------------

static int init(void)
{
    __builtin_memset(&now, 0, sizeof(now));
    __builtin_memset(&book, 0, sizeof(book));
    threaded = false;
    changing = 0;
    rb_rng_seed(&book.rng, rb_sampling_process.seed ^ 0x5bd1e995u);
    book.started_ns = rb_clock_ns(CLOCK_MONOTONIC);
    book.started_ticks = rb_arch_ticks();
    book.ticks_a_ns = 2.5; // until the first turn knows better
    rb_burst = RB_BURST_FIRST;
    now.taking = rb_options.record[0] != '\0'; // a trace has all synchronisation
    rb_process.rests = !now.taking;
    rb_ticker_reset_after_fork();
    return 0;
}

static void have_threads(void)
{
    if (!__atomic_exchange_n(&threaded, true, __ATOMIC_ACQ_REL)) {
        if (rb_resting())
            end_rest();
        book.turned_ns = rb_clock_ns(CLOCK_MONOTONIC);
        const uint64_t ns = book.turned_ns - book.started_ns;
        if (ns > 1000000)
            book.ticks_a_ns = (double)(rb_arch_ticks() - book.started_ticks) / (double)ns;
        book.cpu_ns = rb_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
        now.allowance = book.debt = (int64_t)(start_ns() * book.ticks_a_ns);
        now.lavish = now.allowance / 2;
        rb_footprint_warm();
        wake_all(rb_burst_give_first);
        rb_watchpoints_open();
    }
    rb_ticker_start(turn);
}

static void spawn(struct rb_self *me)
{
    have_threads();
    rb_sampling_passed(me);
    rb_sampling_grant(me, 0);
    wake_for_new();
}

static uint64_t begin(struct rb_self *me)
{
    if (me->id)
        have_threads();
    return 0;
}

static enum rb_take at_odd_place(struct rb_self *me)
{
    const bool taken = threaded && is_open();

    rb_odd_ask(me, taken, is_lavish() || __atomic_load_n(&now.mode, __ATOMIC_RELAXED) == OPEN, aim());
    return taken ? RB_TAKE : RB_PASS;
}

static enum rb_take next(struct rb_self *me, uintptr_t pc, uint64_t passed, uint64_t *gap)
{
    const uint32_t mode = __atomic_load_n(&now.mode, __ATOMIC_RELAXED);

    if (RB_UNLIKELY(!rb_adaptive_taking())) {
        struct rb_site *s = rb_site_at(me, pc);
        if (!rb_site_can_sleep(s) || s->state != RB_SITE_AWAKE || s->taken || s->left || !is_roused()) {
            *gap = threaded && !is_overdrawn() ? 0 : CLOSE_GAP;
            rb_odd_skip = rb_site_sleep(me, s) ? rb_odd_skip : REST_GAP;
            return RB_PASS;
        }
    }
    if (RB_UNLIKELY(mode == COUNTING))
        return count(passed, gap);
    *gap = 0;
    struct rb_site *s = rb_site_at(me, pc);
    if (RB_UNLIKELY(mode == CLOSING) && (!s || s->taken)) {
        *gap = CLOSE_GAP;
        return RB_PASS;
    }
    if (!rb_site_can_sleep(s))
        return at_odd_place(me);
    if (RB_UNLIKELY(!threaded || is_overdrawn()) && mode != OPEN) { // nothing is taken: ask less often
        rb_burst_end(me, s);
        *gap = CLOSE_GAP;
        return RB_PASS;
    }
    me->sampling.window += mode == OPEN;
    return at_site(me, s);
}

static size_t piece(void)
{
    return is_lavish() ? 8 * RB_PIECE : RB_PIECE;
}

// What is taken off for what was measured: the clock does not see what the program loses beside it.
static uint64_t charge(uint64_t ticks, uint64_t longest)
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
    __atomic_fetch_add(&now.spent, spent, __ATOMIC_RELAXED);
    const uint64_t synced = __atomic_add_fetch(&now.synced, spent, __ATOMIC_RELAXED);
    const int64_t left = __atomic_sub_fetch(&now.allowance, (int64_t)spent, __ATOMIC_RELAXED);
    if (RB_UNLIKELY(left < 0 && (int64_t)(synced - book.seen_synced) > book.most / EPISODE_SHARE))
        rest_early();
}

static void cost(struct rb_self *me, uint64_t ticks)
{
    struct rb_sampling *s = &me->sampling;

    if (RB_UNLIKELY(s->odd_asked)) {
        rb_odd_answer(me, ticks < LONGEST ? ticks : LONGEST, aim());
        tell_synced(s); // there may be no synchronisation to tell it with
    }
    s->ticks += charge(ticks > s->away_ticks ? ticks - s->away_ticks : 0, LONGEST) + CALL_TICKS;
    if (RB_UNLIKELY(s->away_ticks)) {
        s->ticks += (uint64_t)((double)s->away_ns * book.ticks_a_ns);
        s->away_ticks = s->away_ns = 0;
    }
    if (RB_LIKELY(s->ticks < BATCH))
        return;
    const int64_t spent = (int64_t)s->ticks;
    s->ticks = 0;
    __atomic_fetch_add(&now.spent, (uint64_t)spent, __ATOMIC_RELAXED);
    const bool open = __atomic_load_n(&now.mode, __ATOMIC_RELAXED) == OPEN;
    __atomic_fetch_sub(open ? &now.saved : &now.allowance, spent, __ATOMIC_RELAXED);
    if (s->window) {
        __atomic_fetch_add(&now.counted, s->window, __ATOMIC_RELAXED);
        s->window = 0;
    }
    if (open && __atomic_sub_fetch(&now.left, spent, __ATOMIC_RELAXED) < 0)
        end_window(OPEN);
}

static void synced(struct rb_self *me, uint64_t ticks)
{
    struct rb_sampling *s = &me->sampling;
    const uint64_t operations = me->count.acquires + me->count.releases;

    s->sync_ticks += charge(ticks, LONGEST_SYNC) + SYNC_TICKS * (operations - s->synced) +
                     BLOCK_TICKS * (me->count.blocks - s->blocks) +
                     FORGET_TICKS * (me->count.forgotten - s->forgotten);
    s->synced = operations;
    s->blocks = me->count.blocks;
    s->forgotten = me->count.forgotten;
    tell_synced(s);
}

static void end(struct rb_self *me)
{
    __atomic_fetch_add(&now.spent, me->sampling.ticks + me->sampling.sync_ticks, __ATOMIC_RELAXED);
}

const struct rb_policy rb_policy_adaptive = {.ops = &rb_sample_adaptive,
                                             .init = init,
                                             .begin = begin,
                                             .end = end,
                                             .next = next,
                                             .piece = piece,
                                             .gate = at_gate,
                                             .spawn = spawn,
                                             .cost = cost,
                                             .synced = synced};

void rb_adaptive_summary(struct rb_adaptive_summary *a)
{
    const double spent_ns = (double)__atomic_load_n(&now.spent, __ATOMIC_RELAXED) / book.ticks_a_ns;
    const double cpu = (double)rb_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    const double each = book.counted ? book.counted_ns / (double)book.counted : 0;
    const double synced_ns = (double)__atomic_load_n(&now.synced, __ATOMIC_RELAXED) / book.ticks_a_ns;
    const double watched_ns = (double)rb_watchpoints_spent() / book.ticks_a_ns;

    *a = (struct rb_adaptive_summary){.episodes = book.episodes,
                                      .windows = book.windows,
                                      .in_windows = book.in_windows};
    if (cpu > spent_ns) {
        a->cost_ppm = (uint64_t)((spent_ns + (double)book.ticker_ns) / (cpu - spent_ns) * 1e6);
        a->sync_ppm = (uint64_t)(synced_ns / (cpu - spent_ns) * 1e6);
        a->watch_ppm = (uint64_t)(watched_ns / (cpu - spent_ns) * 1e6);
    }
    if (each <= 0 || book.counted < LEAST)
        return;
    a->accesses = (uint64_t)(book.own_ns / each);
    const double share = a->accesses ? (double)book.in_windows / (double)a->accesses : 0;
    a->window_ppb = (uint64_t)(share * 1e9);
}
