#include "lab/replay/engines.h"

#include <string.h>

#include "lab/predict/predict.h"

const struct rb_engine_ops rb_engine_shb = {.name = "shb",
                                            .help = "predictive: every race is one of some order",
                                            .predict = &rb_shb};
const struct rb_engine_ops rb_engine_wcp = {
    .name = "wcp",
    .help = "predictive: sections may change places; sure of its first race",
    .predict = &rb_wcp};
const struct rb_engine_ops rb_engine_syncp = {
    .name = "syncp",
    .help = "predictive: all races of orders that keep those of the sections",
    .predict = &rb_syncp};

const struct rb_engine_ops *const rb_lab_engines[] = {&rb_djit,       &rb_fasttrack,    &rb_st,
                                                      &rb_su,         &rb_so,           &rb_engine_shb,
                                                      &rb_engine_wcp, &rb_engine_syncp, NULL};

const struct rb_engine_ops *rb_lab_engine_find(const char *name)
{
    for (int i = 0; rb_lab_engines[i]; i++)
        if (!strcmp(rb_lab_engines[i]->name, name))
            return rb_lab_engines[i];
    return NULL;
}
