#include "run/sites/gates.h"

#include "inproc/clocks.h"
#include "run/core/arch.h"

#define LEAST      60u    // ticks of a change of bodies, beside what the clock sees
#define HOOK_TICKS 3u     // of a hook that sleeps
#define MANY       4u     // 2^4 hooks or more
#define BRANCH     3u     // 2^3 behind a probe
#define ASK_NS     400u   // of a question to the kernel
#define SHARE      3u     // of the time between two passes in a row, one part in so many goes to such hooks
#define LONG       50000u // ticks; of what is longer the thread may not have been on a core all the time
#define LONGEST    500000u
#define LOOK_TICKS 512u // of a look at an access, about
#define WORTH      16u  // looks must have taken one part in so many of the time in a body

// Whoever asks for it may lose the core over that.
static uint64_t on_core_ns(struct rb_sampling *s, uint64_t ticks)
{
    const uint64_t ns = rb_clock_ns(CLOCK_THREAD_CPUTIME_ID);

    s->away_ticks += rb_arch_ticks() - ticks;
    s->away_ns += ASK_NS;
    return ns;
}

// The thread's time since its last pass, if that was here. Where passes are far apart, as around a long loop,
// the kernel is asked for it; the first time there is nothing to compare its answer with.
static uint64_t time_here(struct rb_self *me, struct rb_site *gate, bool again, double ticks_a_ns)
{
    struct rb_sampling *s = &me->sampling;
    const uint64_t ticks = rb_arch_ticks(), before_ns = s->gate_ns;
    const uint64_t passed = again ? ticks - s->gate_ticks : 0;

    if (again)
        gate->slow = passed > LONG;
    s->gate = gate->pc;
    s->gate_switched = gate->switched;
    s->gate_ticks = ticks;
    s->gate_ns = gate->slow ? on_core_ns(s, ticks) : 0;
    if (passed <= LONG)
        return passed;
    if (before_ns && s->gate_ns)
        return (uint64_t)((double)(s->gate_ns - before_ns) * ticks_a_ns);
    return passed < LONGEST ? passed : LONGEST;
}

// As many as were awake at once, in one pass.
static void count_hooks(struct rb_site *gate, uint64_t looks)
{
    const unsigned log2 = looks ? 63u - (unsigned)__builtin_clzll(looks) : 0;

    if (log2 > gate->hooks)
        gate->hooks = log2 < MANY ? log2 & 7u : MANY;
}

// What hooks that sleep have cost in a pass: nobody counts them, but it is known how many there were when
// they were awake. Of loops only the first rounds are seen so; there it is a share of the time.
static uint64_t sleepers_ticks(const struct rb_site *gate, uint64_t passed)
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
    const uint64_t passed = time_here(me, gate, again, ticks_a_ns);

    gate->looks = (uint16_t)s->looks;
    s->gate_looks = s->looks;
    if (again && rb_site_is_gate(gate))
        count_hooks(gate, looks);
    const bool little = rb_site_is_gate(gate) && looks * LOOK_TICKS * WORTH < passed;
    return (struct rb_gate_pass){sleepers_ticks(gate, passed), mine && (!looks || little)};
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
