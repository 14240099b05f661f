// PACER (Bond, Coons, McKinley, PLDI 2010): time is cut into periods of LENGTH accesses, the same for all
// threads; each is a sampling period with probability P, independently. Inside, every access is taken.
// Outside, accesses are checked against what sampling periods recorded, and forget what they dominate, but
// are not recorded: the first access of a shortest race is in a sampling period with probability P, and its
// second is then seen wherever it falls. So each race is found with probability at least P. That local
// clocks stand still outside sampling periods is what the st, su and so engines do anyway.
#include "sample/sampler.h"

static int start(struct rb_sampler *s)
{
    s->pacer.left = 0;
    s->pacer.scale = s->spec.p < 1 && s->spec.p > 0 ? 1 / rb_ln(1 - s->spec.p) : 0;
    return 0;
}

static uint64_t gap(struct rb_sampler *s)
{
    uint64_t periods;

    if (s->pacer.left > 0) {
        s->pacer.left--;
        return 0;
    }
    if (s->spec.p <= 0)
        return RB_GAP_END;
    periods = rb_rng_geometric(&s->rng, s->pacer.scale);
    s->pacer.left = s->spec.length - 1;
    return periods < RB_GAP_END / s->spec.length ? periods * s->spec.length : RB_GAP_END;
}

const struct rb_sampler_ops rb_sample_pacer = {.name = "pacer",
                                               .parameters = ":P[,LENGTH]",
                                               .help = "global sampling periods; the rest checked only",
                                               .start = start,
                                               .gap = gap,
                                               .between = RB_CHECK};
