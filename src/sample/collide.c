// Decided by hardware breakpoints, so they work in a running program only (run/watchpoint/collide.c).
#include "sample/sampler.h"

#define ONLINE                                                                                            \
    "needs hardware breakpoints and works in a running program only; on a trace, take 'static:P', which " \
    "has "                                                                                                \
    "the same first accesses"

const struct rb_sampler_ops rb_sample_crsampler = {.name = "crsampler",
                                                   .parameters = ":P[,MS]",
                                                   .help =
                                                       "clock races, by breakpoints at a share of the code",
                                                   .online = ONLINE};
const struct rb_sampler_ops rb_sample_datacollider = {
    .name = "datacollider",
    .parameters = ":P[,MS]",
    .help = "collisions, by breakpoints and delays at a share of the code",
    .online = ONLINE};
