// PACER (Bond, Coons, McKinley, PLDI 2010): time is cut into periods of LENGTH accesses, the same for all
// threads; each is a sampling period with probability P, independently. Inside, every access is taken.
// Outside, accesses are checked against what sampling periods recorded, and forget what they dominate, but
// are not recorded: the first access of a shortest race is in a sampling period with probability P, and its
// second is then seen wherever it falls. So each race is found with probability at least P. That local
// clocks stand still outside sampling periods is what the st, su and so engines do anyway.
#include <errno.h>

#include "sample/pacer.h"
#include "sample/sampler.h"

static int pacer_start(struct rb_sampler *s)
{
    s->gaps = rb_arena_alloc(&s->arena, sizeof(*s->gaps));
    if (!s->gaps)
        return -ENOMEM;
    rb_gaps_init(s->gaps, s->spec.p);
    s->period_left = 0;
    return 0;
}

static uint64_t pacer_gap(struct rb_sampler *s)
{
    if (s->period_left > 0) {
        s->period_left--;
        return 0;
    }
    s->period_left = s->spec.length - 1;
    return rb_pacer_gap(s->gaps, &s->rng, s->spec.length);
}

const struct rb_sampler_ops rb_sample_pacer = {.name = "pacer",
                                               .parameters = ":P[,LENGTH]",
                                               .help = "global sampling periods; the rest checked only",
                                               .start = pacer_start,
                                               .gap = pacer_gap,
                                               .between = RB_CHECK};
