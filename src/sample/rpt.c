// RPT (Dynamic Race Detection with O(1) Samples, POPL 2023): a constant number of windows at random places,
// each analysed alone with fresh metadata. Where they are is the business of the replay (lab/replay/rpt_windows.c) or of
// the runtime (run/sampler/sampling_rpt.c); inside one, every access is taken.
#include "sample/sampler.h"

static uint64_t rpt_gap(struct rb_sampler *s)
{
    (void)s;
    return 0;
}

const struct rb_sampler_ops rb_sample_rpt = {.name = "rpt",
                                             .parameters = ":EPS,DELTA",
                                             .help = "a constant number of windows, whatever the length",
                                             .windows = true,
                                             .gap = rpt_gap};
