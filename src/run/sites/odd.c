#include "run/sites/odd.h"

#include "run/core/arch.h"

#define EAGER      256u  // of a thread that are all taken; large ones count more
#define SHARE      4     // of the aim, one part in so many may go to them
#define TICKS      1000u // of a question, and its answer
#define SLACK      64u   // questions in a row
#define MOST_GAP   512u  // passed over between two questions, on average
#define CLOSED_GAP 15u   // more where nothing is taken
#define PASS_TICKS 8u    // of one that is passed over

// Ticks that must pass for each that is spent.
static uint64_t ratio(double aim)
{
    return (uint64_t)(SHARE / aim);
}

// `odd_due` is where the clock would be if each had come as long after the last as the aim wants. The further
// ahead it is, the wider the gap.
void rb_odd_ask(struct rb_self *me, bool taken, bool all, double aim)
{
    struct rb_sampling *s = &me->sampling;
    const uint64_t each = TICKS * ratio(aim), ticks = rb_arch_ticks();
    const uint64_t least = ticks - SLACK * each, most = ticks + MOST_GAP * each, due = s->odd_due;

    s->odd_due = (due < least ? least : due < most ? due : most) + each;
    s->odd_asked = true;
    const uint64_t gap = s->odd_due > ticks ? (s->odd_due - ticks) / each : 0;
    const bool none = taken && (all || s->odd <= EAGER);
    rb_odd_skip = none ? 0 : (int64_t)rb_rng_below(&me->rng, 2 * gap + 1) + (taken ? 0 : CLOSED_GAP);
    s->sync_ticks += (uint64_t)rb_odd_skip * PASS_TICKS;
}

// What it took beyond TICKS moves the clock as well: a piece of a large block takes ten times as long as a
// word.
void rb_odd_answer(struct rb_self *me, uint64_t ticks, double aim)
{
    struct rb_sampling *s = &me->sampling;

    s->odd_asked = false;
    s->odd += 1 + (uint32_t)(ticks / TICKS);
    if (ticks > TICKS)
        s->odd_due += (ticks - TICKS) * ratio(aim);
}
