// sampler=crsampler:P and sampler=datacollider:P: races that are seen by data breakpoints, without clocks
// (docs/samplers.md, "Clock races").
//
// A sampled access e1 gets a breakpoint on its bytes. Another thread's access e2 of them traps. With
// crsampler it is a race if the thread of e1 has made no synchronisation operation since (rb_self.steps);
// with datacollider the thread of e1 waits before it meanwhile, and it is a race if it is still there.
#ifndef RB_RUN_WATCHPOINT_SAMPLING_COLLIDE_H
#define RB_RUN_WATCHPOINT_SAMPLING_COLLIDE_H

#include "inproc/breakpoints.h"
#include "run/core/upcalls.h"

// A breakpoint of ours was hit.
RB_HIDDEN void rb_collide_trap(const struct rb_breakpoint_hit *hit, const void *context);
RB_HIDDEN void rb_collide_forget_slow(uintptr_t from, size_t bytes);

// [from, from + bytes) starts anew: what was accessed there is nobody's.
RB_INLINE void rb_collide_forget(uintptr_t from, size_t bytes)
{
    if (RB_UNLIKELY(rb_process.collides))
        rb_collide_forget_slow(from, bytes);
}

#endif
