// A sampled access: is it in the history already, who made it, does it race.
#include "rt/access.h"

#include "rt/history.h"
#include "rt/race.h"
#include "rt/record.h"

#define RANGE_TAKEN 512u // bytes of a range that are looked at, unless everything is

static bool inside_granule(const struct rb_touch *t)
{
    return t->size <= 8 && (t->address & 7) + t->size <= 8;
}

static void take(struct rb_self *me, const struct rb_touch *t, uintptr_t pc)
{
    struct rb_hit hit;

    me->count.sampled++;
    if (!rb_recording && inside_granule(t) && rb_history_knows(me, t))
        return;
    const rb_stack stack = rb_stack_here(&me->walk, pc, rb_process.stack_depth);
    const uint64_t where = rb_where(stack, me->id, t->size);
    rb_history_touch(me, t, where, &hit);
    if (RB_UNLIKELY(rb_recording))
        rb_record_access(me, t, pc);
    if (RB_UNLIKELY(hit.epoch))
        rb_race_found(me, t, where, &hit);
}

void rb_access_inside(struct rb_self *me, uintptr_t address, size_t size, unsigned how, uintptr_t pc)
{
    struct rb_touch t = {address, size, (how & RB_HOW_WRITE) != 0, (how & RB_HOW_ATOMIC) != 0, true};

    if (size == 0 || address + size < address)
        return;
    if (rb_skip > 0) {
        rb_skip--;
        return;
    }
    const enum rb_take answer = rb_sampling_next(me, pc);
    if (answer == RB_PASS || (t.write ? me->ignore_writes : me->ignore_reads) || rb_process.sampling_none)
        return;
    t.record = answer == RB_TAKE;
    if (size > RANGE_TAKEN && !rb_process.take_all) { // a piece of it: S is what we look at
        t.address += rb_rng_below(&me->rng, size - RANGE_TAKEN + 1);
        t.size = RANGE_TAKEN;
    }
    take(me, &t, pc);
}

void rb_access_slow(uintptr_t address, size_t size, unsigned how, uintptr_t pc)
{
    struct rb_self *me = rb_enter();

    if (!me)
        return;
    rb_access_inside(me, address, size, how, pc);
    rb_races_report(me);
    rb_leave(me);
}
