// The engines for traces: those that also run in programs (engine/engine.h), and the predictive ones, which
// need the whole trace. Tool side.
#ifndef RB_LAB_REPLAY_ENGINES_H
#define RB_LAB_REPLAY_ENGINES_H

#include "engine/engine.h"

extern const struct rb_engine_ops rb_engine_shb, rb_engine_wcp, rb_engine_syncp;
extern const struct rb_engine_ops
    *const rb_lab_engines[]; // rb_engines' first, in their order; NULL at the end
const struct rb_engine_ops *rb_lab_engine_find(const char *name);

#endif
