// Each access alone with probability P. Drawn as gaps between taken accesses, so an access that is passed
// over costs nothing.
#include <errno.h>

#include "sample/sampler.h"

static int random_start(struct rb_sampler *s)
{
    s->gaps = rb_arena_alloc(&s->arena, sizeof(*s->gaps));
    if (!s->gaps)
        return -ENOMEM;
    rb_gaps_init(s->gaps, s->spec.p);
    return 0;
}

static uint64_t random_gap(struct rb_sampler *s)
{
    return rb_gaps_draw(s->gaps, &s->rng);
}

const struct rb_sampler_ops rb_sample_random = {.name = "random",
                                                .parameters = ":P",
                                                .help = "each access alone, with probability P",
                                                .start = random_start,
                                                .gap = random_gap};
