// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RPT in the running program: every access is taken and every synchronisation operation processed inside a
// window, and none between windows. sample/rpt.h has the lengths and counts. docs/explanation/samplers.md derives the
// guarantee for a run of unknown length, and proves that skipping synchronisation causes no false report.
//
// Time is the number of events so far: accesses and synchronisation operations of all threads. A thread
// adds its own in batches. It sees a window begin at its next synchronisation operation, or after at most a
// batch of accesses.
//
//   state   3n      quiet: nothing is recorded
//           3n + 1  synchronisation is processed, accesses are not taken yet
//           3n + 2  window n is open
// The state only grows. A window begins in this order: state 3n + 1, the history's generation grows (all
// recorded accesses are forgotten), state 3n + 2.
//
// This order suffices, without waiting for other threads. Let access e1 be recorded in window n, and let e2
// be checked against it. Let a path of operations of the program order e1 before e2. Each operation on the
// path really orders: its hook reads the state after the reads of its predecessors became visible to it. So
// the states that the hooks read grow along the path. The first is at least 3n + 1, which each thread that
// read the window's generation sees. The last is at most 3n + 2, the state that e2 read. So all of the
// operations were processed.
//
// The one exception is an atomic read-modify-write: its hook reads the state before the operation.
// atomics.c reads the state again after it, and counts a lost edge if a window began meanwhile.
#include "run/access/access.h"
#include "run/access/history.h"
#include "run/record/record.h"
#include "run/sampler/sampling.h"
#include "sample/periods.h"

#define BATCH     64u   // events that a thread adds at once, near a window and inside it
#define FAR_BATCH 1024u // the same, far from the next window
#define MOST_HELD 8     // greatest lock count of a thread; a program above it unlocks on other threads

// Written by the holder of `lock`, or atomically; read by all threads. On cache lines of their own.
static uint32_t state __attribute__((aligned(64)));
static uint64_t turn_at; // when `events` reaches this, the state changes
static uint64_t events __attribute__((aligned(64)));
static uint32_t most_held __attribute__((aligned(64)));

// Under `lock`.
static rb_spin lock;
static struct rb_rng rng;
static struct rb_gaps gaps;  // between windows of this stage
static uint64_t stage_end;   // 0: in the beginning, which is analysed completely
static uint64_t next_window; // event at which the next one begins
static uint64_t window_end;

static double m_now(void)
{
    const uint64_t threads = rb_load_relaxed(&rb_sampling_process.most_alive);
    const uint64_t held = rb_load_relaxed(&most_held);

    return rb_rpt_m(threads ? threads : 1, threads * held);
}

// Opens the first window at the start.
static int rpt_init(void)
{
    lock = 0;
    rb_rng_seed(&rng, rb_sampling_process.seed);
    state = 2;
    events = stage_end = 0;
    most_held = 0;
    next_window = RB_GAP_END;
    turn_at = window_end = rb_rpt_beginning(m_now(), rb_sampling_process.spec.p);
    return 0;
}

// ---- where windows begin -------------------------------------------------------------------------------

// Begins a stage, which ends when the run is twice as long. Each of its events begins a window with
// probability r / length, so about r of them do.
static void begin_stage(uint64_t from)
{
    const struct rb_sampler_spec *spec = &rb_sampling_process.spec;
    const double p = (double)rb_rpt_windows(spec->p, spec->delta) / (double)from;

    stage_end = 2 * from;
    rb_gaps_init(&gaps, p < 1 ? p : 1);
}

static uint64_t draw_window(uint64_t from)
{
    for (;;) {
        const uint64_t gap = rb_gaps_draw(&gaps, &rng);
        if (gap < stage_end - from)
            return from + gap;
        from = stage_end; // gaps are memoryless, so draw anew
        begin_stage(from);
    }
}

// ---- the state -----------------------------------------------------------------------------------------

static void open_window(struct rb_self *me)
{
    rb_store_release(&state, state + 1);
    rb_accesses_forget_all();
    rb_store_release(&state, state + 1);
    me->count.windows++;
}

// Extends this window by those that have begun by `now`.
static void stretch_time(uint64_t now, uint64_t length)
{
    while (next_window <= now) {
        if (next_window + length > window_end)
            window_end = next_window + length;
        next_window = draw_window(next_window + 1);
    }
}

// Changes the state at event `now` if it is time. Called with the lock held. The batches of all threads are
// added to a window's length, since the last thread may see it begin that much later.
static void turn_window(struct rb_self *me, uint64_t now)
{
    const double m = m_now(), eps = rb_sampling_process.spec.p;
    const uint64_t beginning = rb_rpt_beginning(m, eps);
    const uint64_t slack = (uint64_t)BATCH * rb_load_relaxed(&rb_sampling_process.most_alive);
    const uint64_t length = rb_rpt_window(m, eps) + slack;
    const bool open = state % 3 == 2;

    if (now < beginning) { // also after more threads have started
        window_end = beginning;
    } else {
        if (!stage_end) {
            begin_stage(now);
            next_window = draw_window(now);
        }
        if (!open)
            window_end = now + length;
        stretch_time(now, length);
    }
    if (!open) {
        open_window(me);
    } else if (now >= window_end) {
        rb_store_release(&state, state + 1);
        rb_store_relaxed(&turn_at, next_window);
        return;
    }
    rb_store_relaxed(&turn_at, window_end);
}

// Adds the thread's events to those of the process. If the lock is taken, its holder or the next batch
// changes the state.
static uint64_t add_events(struct rb_self *me)
{
    const uint64_t pending = me->sampling.pending;
    uint64_t now = rb_add_fetch_relaxed(&events, pending);

    me->sampling.pending = 0;
    if (now >= rb_load_relaxed(&turn_at) && rb_spin_try(&lock)) {
        now = rb_load_relaxed(&events);
        if (now >= turn_at)
            turn_window(me, now);
        rb_spin_unlock(&lock);
    }
    return now;
}

// Returns the number of accesses to pass over in the state last seen. Far from the next window this is an
// eighth of the thread's share of the distance.
static uint64_t gap_now(const struct rb_sampling *s, uint64_t now)
{
    const uint64_t at = rb_load_relaxed(&turn_at);
    const uint64_t threads = rb_load_relaxed(&rb_sampling_process.most_alive);
    const uint64_t batch = at > now ? (at - now) / (8 * (threads ? threads : 1)) : 0;

    if (s->state % 3)
        return 0;
    return batch < BATCH ? BATCH : batch < FAR_BATCH ? batch : FAR_BATCH;
}

// ---- the policy ----------------------------------------------------------------------------------------

static uint64_t rpt_begin_thread(struct rb_self *me)
{
    struct rb_sampling *s = &me->sampling;

    s->state = rb_load_acquire(&state);
    return gap_now(s, rb_load_relaxed(&events));
}

static void rpt_end_thread(struct rb_self *me)
{
    if (me->sampling.pending)
        add_events(me);
}

static enum rb_take rpt_decide(struct rb_self *me, uintptr_t pc, uint64_t passed, uint64_t *gap)
{
    struct rb_sampling *s = &me->sampling;
    const uint32_t before = rb_load_acquire(&state);

    (void)pc;
    s->pending += (uint32_t)passed;
    if (RB_LIKELY(before % 3 == 2 && s->pending < BATCH)) {
        s->state = before;
        *gap = 0;
        return RB_TAKE;
    }
    const uint64_t now = add_events(me);
    s->state = rb_load_acquire(&state);
    *gap = gap_now(s, now);
    return s->state % 3 == 2 ? RB_TAKE : RB_PASS;
}

static RB_NOINLINE void look_again(struct rb_self *me)
{
    struct rb_sampling *s = &me->sampling;

    s->pending += (uint32_t)rb_sampling_passed(me);
    const uint64_t now = add_events(me);
    s->state = rb_load_acquire(&state);
    rb_sampling_grant(me, gap_now(s, now));
}

static bool follow_operation(struct rb_self *me, int locks)
{
    struct rb_sampling *s = &me->sampling;

    s->held += s->held + locks >= 0 && s->held + locks <= MOST_HELD ? locks : 0;
    if (RB_UNLIKELY((uint32_t)s->held > rb_load_relaxed(&most_held)))
        rb_store_relaxed(&most_held, (uint32_t)s->held);
    if (++s->pending >= BATCH || rb_load_acquire(&state) != s->state)
        look_again(me);
    return s->state % 3 != 0 || RB_UNLIKELY(rb_recording); // a trace contains all of them
}

bool rb_sampling_quiet(void)
{
    return rb_load_acquire(&state) % 3 == 0;
}

const struct rb_policy rb_policy_rpt = {.ops = &rb_sample_rpt,
                                        .whole = true,
                                        .init = rpt_init,
                                        .begin = rpt_begin_thread,
                                        .end = rpt_end_thread,
                                        .next = rpt_decide,
                                        .sync = follow_operation};
