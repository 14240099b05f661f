// RPT in the running program: windows in which every access is taken and every synchronisation operation
// processed, and between them neither. Its numbers are in sample/periods.h; docs/samplers.md derives what is
// promised when the length of the run is not known, and proves that skipping synchronisation makes no false
// report.
//
// Time is the number of events so far: accesses and synchronisation operations of all threads. A thread adds
// its own in batches; it sees a window begin at its next synchronisation operation, or after at most a batch
// of accesses.
//
//   state   3n      quiet: nothing is recorded
//           3n + 1  synchronisation is processed, accesses are not taken yet
//           3n + 2  window n is open
// The state only grows, and a window begins in this order: state 3n + 1, the history's generation grows (all
// that was recorded is forgotten), state 3n + 2. Why that suffices, without waiting for anybody: let access
// e1 be recorded in window n, e2 checked against it, and e1 ordered before e2 by a path of operations of the
// program. Each operation on the path really orders: its hook reads the state after the reads of its
// predecessors became visible to it. So what the hooks on the path read grows along it, from at least 3n + 1
// (whoever read the window's generation sees that) to at most 3n + 2 (what e2 read). All of them were
// processed. The one exception is an atomic read-modify-write, whose hook reads the state before the
// operation: atomics.c reads it again after, and calls an edge lost if a window began meanwhile.
#include "run/access/access.h"
#include "run/access/history.h"
#include "run/record/record.h"
#include "run/sampler/sampling.h"
#include "sample/periods.h"

#define BATCH     64u   // events a thread adds at once, near a window and inside it
#define FAR_BATCH 1024u // far from the next one
#define MOST_HELD 8 // locks one thread counts as holding at once: more are a program that unlocks elsewhere

// Written by whoever holds `lock`, read by all; on lines of their own.
static uint32_t state __attribute__((aligned(64)));
static uint64_t turn_at; // when `events` reaches this, the state changes
static uint64_t events __attribute__((aligned(64)));
static uint32_t most_held __attribute__((aligned(64)));

// Under `lock`.
static rb_spin lock;
static struct rb_rng rng;
static struct rb_gaps gaps;  // between windows of this stage
static uint64_t stage_end;   // 0: the beginning, which is analysed whole
static uint64_t next_window; // where the next one begins
static uint64_t window_end;

static double m_now(void)
{
    const uint64_t threads = rb_load_relaxed(&rb_sampling_process.most_alive);
    const uint64_t held = rb_load_relaxed(&most_held);

    return rb_rpt_m(threads ? threads : 1, threads * held);
}

// The first window is open from the start.
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

// A stage ends when the run is twice as long as at its beginning; each of its events begins a window with
// probability r / length, so about r do.
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
        from = stage_end; // without a memory: drawn anew
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

// Windows that have begun by `now` make this one longer.
static void stretch_time(uint64_t now, uint64_t length)
{
    while (next_window <= now) {
        if (next_window + length > window_end)
            window_end = next_window + length;
        next_window = draw_window(next_window + 1);
    }
}

// At event `now` the state may change; under the lock. The batches of all threads come on top of a window's
// length: so much later the last may see it begin.
static void turn_window(struct rb_self *me, uint64_t now)
{
    const double m = m_now(), eps = rb_sampling_process.spec.p;
    const uint64_t beginning = rb_rpt_beginning(m, eps);
    const uint64_t slack = (uint64_t)BATCH * rb_load_relaxed(&rb_sampling_process.most_alive);
    const uint64_t length = rb_rpt_window(m, eps) + slack;
    const bool open = state % 3 == 2;

    if (now < beginning) { // also when more threads have come
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

// Adds the thread's events to the process's. Whoever does not get the lock leaves the turn to its holder, or
// to the next batch.
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

// How many accesses to pass over, in the state last seen. Far from the next window, more: an eighth of this
// thread's share of the way.
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
    return s->state % 3 != 0 || RB_UNLIKELY(rb_recording); // a trace has all of it
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
