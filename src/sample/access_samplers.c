// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The samplers that decide about accesses without regard to calls: all and none, the two ends between which
// the others are judged; random; PACER's periods; RPT's windows; and static, which chooses code locations.
#include <errno.h>

#include "sample/periods.h"
#include "sample/sampler.h"

static int make_gaps(struct rb_sampler *s)
{
    s->gaps = rb_arena_alloc(&s->arena, sizeof(*s->gaps));
    if (!s->gaps)
        return -ENOMEM;
    rb_gaps_init(s->gaps, s->spec.p);
    return 0;
}

// ---- all, none -----------------------------------------------------------------------------------------

static uint64_t gap_all(struct rb_sampler *s)
{
    (void)s;
    return 0;
}

static uint64_t gap_none(struct rb_sampler *s)
{
    (void)s;
    return RB_GAP_END;
}

const struct rb_sampler_ops rb_sample_all = {
    .name = "all", .parameters = "", .help = "every access", .takes_all = true, .gap = gap_all};
const struct rb_sampler_ops rb_sample_none = {.name = "none",
                                              .parameters = "",
                                              .help = "no access: synchronisation alone",
                                              .gap = gap_none};

// ---- random --------------------------------------------------------------------------------------------

// Each access alone with probability P. The gaps between taken accesses are drawn, so a skipped access
// costs nothing.
static uint64_t gap_random(struct rb_sampler *s)
{
    return rb_gaps_draw(s->gaps, &s->rng);
}

const struct rb_sampler_ops rb_sample_random = {.name = "random",
                                                .parameters = ":P",
                                                .help = "each access alone, with probability P",
                                                .start = make_gaps,
                                                .gap = gap_random};

// ---- pacer ---------------------------------------------------------------------------------------------

// PACER (Bond, Coons, McKinley, PLDI 2010): time is cut into periods of LENGTH accesses, the same for all
// threads; each is a sampling period with probability P, independently. Inside, every access is taken.
// Outside, accesses are checked against those recorded in sampling periods, and remove the ones they
// dominate, but are not recorded. The first access of a shortest race is in a sampling period with
// probability P, and its second is then seen wherever it occurs. So each race is found with probability at
// least P. Local clocks stand still outside sampling periods, as the st, su and so engines do anyway.
static uint64_t gap_pacer(struct rb_sampler *s)
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
                                               .start = make_gaps,
                                               .gap = gap_pacer,
                                               .between = RB_CHECK};

// ---- rpt -----------------------------------------------------------------------------------------------

// RPT (Dynamic Race Detection with O(1) Samples, POPL 2023): a constant number of windows at random places,
// each analysed alone with fresh metadata. The replay (lab/replay/rpt_windows.c) or the runtime
// (run/sampler/sampling_rpt.c) places them; inside one, every access is taken.
const struct rb_sampler_ops rb_sample_rpt = {.name = "rpt",
                                             .parameters = ":EPS,DELTA",
                                             .help = "a constant number of windows, whatever the length",
                                             .windows = true,
                                             .gap = gap_all};

// ---- static --------------------------------------------------------------------------------------------

// Draws a fixed subset of the code locations, of which every execution is taken (CRSampler's static
// sampling).
static int draw_locations(struct rb_sampler *s)
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

static enum rb_take ask_location(struct rb_sampler *s, uint32_t thread, uint32_t location)
{
    (void)thread;
    return s->chosen[location / 64] >> (location % 64) & 1 ? RB_TAKE : RB_PASS;
}

const struct rb_sampler_ops rb_sample_static = {.name = "static",
                                                .parameters = ":P",
                                                .help = "a fixed random subset of code locations",
                                                .start = draw_locations,
                                                .ask = ask_location};
