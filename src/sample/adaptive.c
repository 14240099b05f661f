// Decides by measured cost, so it works in a running program only (run/sampler/adaptive/adaptive.c).
#include "sample/sampler.h"

const struct rb_sampler_ops rb_sample_adaptive = {
    .name = "adaptive",
    .parameters = "",
    .help = "cold code first, then as much as budget= allows",
    .online = "decides by measured cost and works in a running "
              "program only; on a trace, take 'literace' or 'random:P'"};
