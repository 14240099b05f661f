// Everything, and nothing: the two ends between which the others are judged.
#include "sample/sampler.h"

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
