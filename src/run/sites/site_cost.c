// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cost of hooks that no clock measures, for the sampler that goes by cost (docs/explanation/sampling.md): sleeping
// hooks behind gates and probes, and places that cannot sleep.
#include "inproc/clocks.h"
#include "run/core/arch.h"
#include "run/sites/sites.h"

// ---- gates ---------------------------------------------------------------------------------------------

#define LEAST      60u  // ticks of a change to the other copy, beside the measured time
#define HOOK_TICKS 3u   // of a sleeping hook
#define MANY       4u   // 2^4 hooks or more
#define BRANCH     3u   // 2^3 behind a probe
#define ASK_NS     400u // of a call of the kernel
// of the time between two passes in a row, sleeping hooks take at most one part in so many
#define SHARE      3u
#define LONG       50000u // ticks; for longer times the thread may not have been on a core throughout
#define LONGEST    500000u
#define LOOK_TICKS 512u // of a look at an access, about
#define WORTH      16u  // looks must have taken one part in so many of the time in a copy

// Returns the thread's CPU time. The thread may lose the core over the call.
static uint64_t read_core_ns(struct rb_sampling *s, uint64_t ticks)
{
    const uint64_t ns = rb_clock_ns(CLOCK_THREAD_CPUTIME_ID);

    s->away_ticks += rb_arch_ticks() - ticks;
    s->away_ns += ASK_NS;
    return ns;
}

// Returns the thread's time since its last pass, if that was at this gate. Where passes are far apart, as
// around a long loop, the time comes from the kernel; the first answer has nothing to be compared with.
static uint64_t measure_stay(struct rb_self *me, struct rb_site *gate, bool again, double ticks_a_ns)
{
    struct rb_sampling *s = &me->sampling;
    const uint64_t ticks = rb_arch_ticks(), before_ns = s->gate_ns;
    const uint64_t passed = again ? ticks - s->gate_ticks : 0;

    if (again)
        gate->slow = passed > LONG;
    s->gate = gate->pc;
    s->gate_switched = gate->switched;
    s->gate_ticks = ticks;
    s->gate_ns = gate->slow ? read_core_ns(s, ticks) : 0;
    if (passed <= LONG)
        return passed;
    if (before_ns && s->gate_ns)
        return (uint64_t)((double)(s->gate_ns - before_ns) * ticks_a_ns);
    return passed < LONGEST ? passed : LONGEST;
}

// Estimates the hooks behind the gate: as many as were awake at once, in one pass.
static void count_hooks(struct rb_site *gate, uint64_t looks)
{
    const unsigned log2 = looks ? 63u - (unsigned)__builtin_clzll(looks) : 0;

    if (log2 > gate->hooks)
        gate->hooks = log2 < MANY ? log2 & 7u : MANY;
}

// Returns the cost of sleeping hooks in a pass. No counter sees them, but their number while they were
// awake is known. Of loops only the first rounds are seen awake; there it is a share of the time.
static uint64_t estimate_sleepers(const struct rb_site *gate, uint64_t passed)
{
    const unsigned hooks = rb_site_is_gate(gate) ? gate->hooks : BRANCH;
    const uint64_t most = passed / SHARE, ticks = hooks < MANY ? (2u << hooks) * HOOK_TICKS : most;

    return LEAST + (ticks < most ? ticks : most);
}

struct rb_gate_pass rb_gate_pass(struct rb_self *me, struct rb_site *gate, double ticks_a_ns)
{
    struct rb_sampling *s = &me->sampling;
    const bool again = s->gate == gate->pc && s->gate_switched == gate->switched; // open all the time
    const bool mine = again || (gate->last == (uint16_t)me->id && gate->taken);
    const uint64_t looks = again ? s->looks - s->gate_looks : (uint16_t)(s->looks - gate->looks);
    const uint64_t passed = measure_stay(me, gate, again, ticks_a_ns);

    gate->looks = (uint16_t)s->looks;
    s->gate_looks = s->looks;
    if (again && rb_site_is_gate(gate))
        count_hooks(gate, looks);
    const bool little = rb_site_is_gate(gate) && looks * LOOK_TICKS * WORTH < passed;
    return (struct rb_gate_pass){estimate_sleepers(gate, passed), mine && (!looks || little)};
}

void rb_gate_closed(struct rb_self *me)
{
    me->sampling.gate = 0;
}

void rb_gate_looked(struct rb_self *me, struct rb_site *s)
{
    me->sampling.looks++;
    me->sampling.overs = 0;
    if (me->sampling.gate)
        s->gate = me->sampling.gate;
}

// ---- places that cannot sleep --------------------------------------------------------------------------

#define EAGER      256u  // accesses of a thread that are all taken; large ones count more
#define ODD_SHARE  4     // of the aim, one part in so many may go to such places
#define TICKS      1000u // of a question and its answer
#define SLACK      64u   // questions in a row
#define MOST_GAP   512u  // passed over between two questions, on average
#define CLOSED_GAP 15u   // added where nothing is taken
#define PASS_TICKS 8u    // of an access that is passed over

// Returns the ticks that must pass for each one spent.
static uint64_t pace_ratio(double aim)
{
    return (uint64_t)(ODD_SHARE / aim);
}

// Sets the gap from `odd_due`, which is where the clock would be if each access had kept the distance that
// the aim wants. The further ahead it is, the wider the gap.
void rb_unpatched_ask(struct rb_self *me, bool taken, bool all, double aim)
{
    struct rb_sampling *s = &me->sampling;
    const uint64_t each = TICKS * pace_ratio(aim), ticks = rb_arch_ticks();
    const uint64_t least = ticks - SLACK * each, most = ticks + MOST_GAP * each, due = s->odd_due;

    s->odd_due = (due < least ? least : due < most ? due : most) + each;
    s->odd_asked = true;
    const uint64_t gap = s->odd_due > ticks ? (s->odd_due - ticks) / each : 0;
    const bool none = taken && (all || s->odd <= EAGER);
    rb_unpatched_skip = none ? 0 : (int64_t)rb_rng_below(&me->rng, 2 * gap + 1) + (taken ? 0 : CLOSED_GAP);
    s->sync_ticks += (uint64_t)rb_unpatched_skip * PASS_TICKS;
}

// Moves the clock by time beyond TICKS as well: a piece of a large block takes ten times as long as a word.
void rb_unpatched_answer(struct rb_self *me, uint64_t ticks, double aim)
{
    struct rb_sampling *s = &me->sampling;

    s->odd_asked = false;
    s->odd += 1 + (uint32_t)(ticks / TICKS);
    if (ticks > TICKS)
        s->odd_due += (ticks - TICKS) * pace_ratio(aim);
}
