// Bursts: how many calls of a site are looked at when it is woken, or times a gate is open, and what becomes of
// it afterwards. For the sampler that goes by cost; docs/sampling.md.
#ifndef RB_RUN_SAMPLER_ADAPTIVE_BURSTS_H
#define RB_RUN_SAMPLER_ADAPTIVE_BURSTS_H

#include "run/sites/sites.h"

#define RB_BURST_FIRST 16u // calls of a site that are taken when it is met, at least
#define RB_BURST_LEAST 6u  // when it has been woken, at least

extern RB_HIDDEN uint32_t rb_burst; // what a site gets when it is woken

// True, always: they say which sites are to be woken (rb_sites_flip_all).
RB_HIDDEN bool rb_burst_give(struct rb_site *s);
RB_HIDDEN bool rb_burst_give_first(struct rb_site *s);
// The same for gates; false for others.
RB_HIDDEN bool rb_burst_give_gate(struct rb_site *s);
RB_HIDDEN bool rb_burst_give_window(struct rb_site *s); // open until the window is over
// Is it awake though its burst is over, as behind a gate?
RB_INLINE bool rb_burst_is_over(const struct rb_site *s)
{
    return s->state == RB_SITE_AWAKE && !s->left && s->taken;
}
RB_HIDDEN void rb_burst_give_again(void); // to all those sites
// Has it been called in the window that ends, and is it not behind a gate, which is closed in its place?
RB_HIDDEN bool rb_burst_is_spent(struct rb_site *s);

// The thread comes by: a burst is prolonged when another one does.
RB_HIDDEN void rb_burst_meet(const struct rb_self *me, struct rb_site *s);
// Has what is over now taken long, as of something that comes by seldom?
RB_HIDDEN bool rb_burst_was_slow(const struct rb_site *s, double ticks_a_ns);
// It is over: the site is put to sleep, or the gate in front of it closed.
RB_HIDDEN void rb_burst_end(struct rb_self *me, struct rb_site *s);

#endif
