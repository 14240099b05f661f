// The fast path: one decrement of a thread-local counter. What is passed over costs that and nothing more;
// everything else is in rb_access_slow.
#ifndef RB_RUN_ACCESS_ACCESS_H
#define RB_RUN_ACCESS_ACCESS_H

#include "run/core/access_kind.h"
#include "run/core/rt.h"
#include "sample/sampler.h"

RB_HIDDEN void rb_access_slow(uintptr_t address, size_t size, unsigned how, uintptr_t pc);

RB_INLINE void rb_access(const volatile void *address, size_t size, unsigned how, uintptr_t pc)
{
    if (RB_LIKELY(--rb_skip >= 0))
        return;
    rb_access_slow((uintptr_t)address, size, how, pc);
}

// The same at places that cannot sleep: atomics, interceptors.
RB_INLINE bool rb_passes_odd(void)
{
    if (rb_odd_skip > 0) {
        rb_odd_skip--;
        return true;
    }
    return --rb_skip >= 0;
}

// A call that makes a few accesses of that kind: all of them at once, without saving a register.
RB_INLINE bool rb_passes_odd_call(void)
{
    if (rb_odd_skip < 4)
        return false;
    rb_odd_skip--;
    return true;
}

RB_INLINE void rb_access_odd(const volatile void *address, size_t size, unsigned how, uintptr_t pc)
{
    if (RB_UNLIKELY(!rb_passes_odd()))
        rb_access_slow((uintptr_t)address, size, how, pc);
}

// The same from inside the guard: for interceptors that have entered already.
RB_HIDDEN void rb_access_inside(struct rb_self *me, uintptr_t address, size_t size, unsigned how,
                                uintptr_t pc);

// A block that is given back, from inside the guard: a write to all of it, of which only the beginning is
// kept. A large block would push everything else out of the history; a later use is caught if it is in the
// beginning.
RB_HIDDEN void rb_access_freed(struct rb_self *me, uintptr_t address, size_t size, uintptr_t pc);

// An access that a watchpoint caught, from inside the guard: taken whatever the sampler says. `frame` is that
// of the code that made it, as if it were in its hook.
struct rb_touch;
RB_HIDDEN void rb_access_trapped(struct rb_self *me, const struct rb_touch *t,
                                 const struct rb_unwind_frame *frame);

// ---- sampling.c: which accesses are taken --------------------------------------------------------------
// The rule all samplers share: rb_skip accesses are passed over without a question, then `rb_sampling_next`
// is asked about one access, answers for it, and says how many may be passed over after it.

RB_HIDDEN int rb_sampling_init(const struct rb_sampler_spec *spec, uint64_t seed);
RB_HIDDEN void rb_sampling_reset_after_fork(void);
// A thread begins: sets rb_skip. A context that is made for later (fibers) has it in fiber_skip.
RB_HIDDEN void rb_sampling_start(struct rb_self *me);
RB_HIDDEN void rb_sampling_settle(struct rb_self *me); // counts what was passed over so far
RB_HIDDEN void rb_sampling_end(struct rb_self *me);    // the same, for the last time, on the thread itself
RB_HIDDEN void rb_sampling_free(struct rb_self *me);   // gives back what a thread still has
RB_HIDDEN void rb_sampling_spawn(struct rb_self *me);  // it is about to make a thread
// If rb_process.by_cost: what an access took, and what a synchronisation operation did. The latter is also
// called now and then with 0, when many have come by that took too little to be timed.
RB_HIDDEN void rb_sampling_cost(struct rb_self *me, uint64_t ticks);
RB_HIDDEN void rb_sampling_synced(struct rb_self *me, uint64_t ticks);
RB_HIDDEN enum rb_take rb_sampling_next(struct rb_self *me, uintptr_t pc);
// How many bytes of a range are taken, at most; what is not longer than RB_PIECE always is.
#define RB_PIECE 512u
RB_HIDDEN size_t rb_sampling_piece(void);
// Functions with two bodies (docs/bodies.md): somebody goes into the one with hooks. Not called while false.
extern RB_HIDDEN bool rb_gates_on;
RB_HIDDEN void rb_sampling_gate(unsigned char *gate);
// A branch is taken in the body without hooks, from the place that returns to pc: shall it go on in the other
// one?
RB_HIDDEN int rb_sampling_probe(uintptr_t nothing, uintptr_t nothing_either, uintptr_t pc);
RB_HIDDEN void rb_sampling_enter(uintptr_t caller_pc, uintptr_t function_pc);
RB_HIDDEN void rb_sampling_exit(void);
// If rb_process.windows: called by every synchronisation operation, after an acquire has really happened and
// before a release does. Is it to be processed? `locks` more are held after it. And: would one be passed over
// now?
RB_HIDDEN bool rb_sampling_sync(struct rb_self *me, int locks);
RB_HIDDEN bool rb_sampling_quiet(void);

#endif
