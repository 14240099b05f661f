// A fixed random subset of code locations, every execution of them (CRSampler's static sampling).
#include <errno.h>

#include "sample/sampler.h"

static int static_start(struct rb_sampler *s)
{
    const uint64_t words = s->world.locations / 64 + 1;

    s->chosen = rb_arena_zalloc(&s->arena, words * sizeof(uint64_t));
    if (!s->chosen)
        return -ENOMEM;
    for (uint64_t i = 0; i < s->world.locations; i++)
        if (rb_rng_chance(&s->rng, s->spec.p))
            s->chosen[i / 64] |= UINT64_C(1) << (i % 64);
    return 0;
}

static enum rb_take static_ask(struct rb_sampler *s, uint32_t thread, uint32_t location)
{
    (void)thread;
    return s->chosen[location / 64] >> (location % 64) & 1 ? RB_TAKE : RB_PASS;
}

const struct rb_sampler_ops rb_sample_static = {.name = "static",
                                                .parameters = ":P",
                                                .help = "a fixed random subset of code locations",
                                                .start = static_start,
                                                .ask = static_ask};
