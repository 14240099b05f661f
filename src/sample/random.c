// Each access alone with probability P. Drawn as gaps between taken accesses (geometric), so an access that
// is passed over costs nothing.
#include "sample/sampler.h"

static int start(struct rb_sampler *s)
{
    s->random.scale = s->spec.p < 1 && s->spec.p > 0 ? 1 / rb_ln(1 - s->spec.p) : 0;
    return 0;
}

static uint64_t gap(struct rb_sampler *s)
{
    if (s->spec.p <= 0)
        return RB_GAP_END;
    return rb_rng_geometric(&s->rng, s->random.scale);
}

const struct rb_sampler_ops rb_sample_random = {.name = "random",
                                                .parameters = ":P",
                                                .help = "each access alone, with probability P",
                                                .start = start,
                                                .gap = gap};
