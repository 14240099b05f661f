// Places that cannot sleep: atomics, memcpy and its like, calls that were refused. They are passed over by a
// gap of their own (rb_odd_skip) when they come so close together that looking at them would cost too much.
// For the sampler that goes by cost; docs/sampling.md.
#ifndef RB_RUN_SITES_ODD_H
#define RB_RUN_SITES_ODD_H

#include "run/core/rt.h"

// The thread is at one: sets the gap after it. `taken`: it is looked at; `all`: and so are those that follow;
// `aim` is the share of the thread's time that may be spent on everything.
RB_HIDDEN void rb_odd_ask(struct rb_self *me, bool taken, bool all, double aim);
// It took so long.
RB_HIDDEN void rb_odd_answer(struct rb_self *me, uint64_t ticks, double aim);

#endif
