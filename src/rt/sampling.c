#include "rt/access.h"

#include <errno.h>
#include <sys/mman.h>

bool rb_functions_wanted;
static struct rb_gaps gaps; // random: read-only after the start
static struct rb_sampler_spec chosen;
static uint64_t chosen_seed;

int rb_sampling_init(const struct rb_sampler_spec *spec, uint64_t seed)
{
    chosen = *spec;
    chosen_seed = seed;
    rb_process.take_all = spec->ops->takes_all;
    if (spec->p > 0)
        rb_gaps_init(&gaps, spec->p);
    return 0;
}

static uint64_t draw_gap(struct rb_self *me)
{
    if (chosen.ops->takes_all)
        return 0;
    if (chosen.p > 0)
        return rb_gaps_draw(&gaps, &me->rng);
    return RB_NEVER;
}

static void grant(struct rb_self *me)
{
    const uint64_t gap = draw_gap(me);

    me->granted = gap < RB_NEVER ? (int64_t)gap : RB_NEVER;
    rb_skip = me->granted;
}

void rb_sampling_start(struct rb_self *me)
{
    rb_rng_seed(&me->rng, chosen_seed + me->id * 0x9e3779b97f4a7c15u);
    grant(me);
}

void rb_sampling_settle(struct rb_self *me)
{
    if (rb_skip >= 0)
        me->count.accesses += (uint64_t)(me->granted - rb_skip);
}

void rb_sampling_free(struct rb_self *me)
{
    (void)me;
}

enum rb_take rb_sampling_next(struct rb_self *me, uintptr_t pc)
{
    (void)pc;
    me->count.accesses += (uint64_t)me->granted + 1;
    grant(me);
    return RB_TAKE;
}

void rb_sampling_enter(uintptr_t caller_pc, uintptr_t function_pc)
{
    (void)caller_pc;
    (void)function_pc;
}

void rb_sampling_exit(void)
{
}
