#include "rt/gates.h"

#include "rt/arch.h"
#include "rt/clock.h"

#define LEAST      100u   // ticks of a body with hooks that sleep, beside what the clock sees
#define SHARE      3u     // of the time between two passes in a row, one part in so many goes to such hooks
#define LONG       50000u // ticks; of what is longer the thread may not have been on a core all the time
#define LONGEST    500000u
#define LOOK_TICKS 512u // of a look at an access, about
#define WORTH      16u  // looks must have taken one part in so many of the time in a body

// The thread's time since its last pass, if that was here. Where passes are far apart, as around a long loop,
// the kernel is asked for it; the first time there is nothing to compare its answer with.
static uint64_t time_here(struct rb_self *me, struct rb_site *gate, bool again, double ticks_a_ns)
{
    struct rb_sampling *s = &me->sampling;
    const uint64_t ticks = rb_arch_ticks(), before_ns = s->gate_ns;
    uint64_t passed = again ? ticks - s->gate_ticks : 0;

    if (again)
        gate->slow = passed > LONG;
    s->gate = gate->pc;
    s->gate_switched = gate->switched;
    s->gate_ticks = ticks;
    s->gate_ns = gate->slow ? rb_clock_ns(CLOCK_THREAD_CPUTIME_ID) : 0;
    if (passed <= LONG)
        return passed;
    if (again && before_ns)
        return (uint64_t)((double)(s->gate_ns - before_ns) * ticks_a_ns);
    return passed < LONGEST ? passed : LONGEST;
}

struct rb_gate_pass rb_gate_pass(struct rb_self *me, struct rb_site *gate, double ticks_a_ns)
{
    struct rb_sampling *s = &me->sampling;
    const bool again = s->gate == gate->pc && s->gate_switched == gate->switched; // open all the time
    const uint64_t passed = time_here(me, gate, again, ticks_a_ns);
    const uint64_t looks = (uint16_t)(s->looks - gate->looks) * (uint64_t)LOOK_TICKS;
    const bool mine = gate->last == (uint16_t)me->id && gate->taken;

    gate->looks = (uint16_t)s->looks;
    return (struct rb_gate_pass){passed / SHARE > LEAST ? passed / SHARE : LEAST,
                                 mine && (!looks || looks * WORTH < passed)};
}

void rb_gate_closed(struct rb_self *me)
{
    me->sampling.gate = 0;
}

void rb_gate_looked(struct rb_self *me, struct rb_site *s)
{
    me->sampling.looks++;
    if (me->sampling.gate)
        s->gate = me->sampling.gate;
}
