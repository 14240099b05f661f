// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fast path: one decrement of a thread-local counter. An access that is passed over costs that and
// nothing more; the rest is in rb_access_slow.
#ifndef RB_RUN_ACCESS_ACCESS_H
#define RB_RUN_ACCESS_ACCESS_H

#include "run/core/race_event.h"
#include "run/core/rt.h"
#include "sample/sampler.h"

RB_HIDDEN void rb_access_slow(uintptr_t address, size_t size, unsigned how, uintptr_t pc);

RB_INLINE void rb_access(const volatile void *address, size_t size, unsigned how, uintptr_t pc)
{
    if (RB_LIKELY(--rb_skip >= 0))
        return;
    rb_access_slow((uintptr_t)address, size, how, pc);
}

// Returns true if the access is passed over, at a place that cannot sleep: atomics, interceptors.
RB_INLINE bool rb_passes_odd(void)
{
    if (rb_unpatched_skip > 0) {
        rb_unpatched_skip--;
        return true;
    }
    return --rb_skip >= 0;
}

// Returns true for a call that makes a few such accesses if all are passed over at once, without saving a
// register.
RB_INLINE bool rb_passes_odd_call(void)
{
    if (rb_unpatched_skip < 4)
        return false;
    rb_unpatched_skip--;
    return true;
}

RB_INLINE void rb_access_odd(const volatile void *address, size_t size, unsigned how, uintptr_t pc)
{
    if (RB_UNLIKELY(!rb_passes_odd()))
        rb_access_slow((uintptr_t)address, size, how, pc);
}

// Handles an access from inside the guard, for interceptors that have entered already.
RB_HIDDEN void rb_access_inside(struct rb_self *me, uintptr_t address, size_t size, unsigned how,
                                uintptr_t pc);

// Handles a free, from inside the guard: a write to the whole block, of which only the beginning is kept. A
// large block would push everything else out of the history; a later use is caught if it is in the
// beginning.
RB_HIDDEN void rb_access_freed(struct rb_self *me, uintptr_t address, size_t size, uintptr_t pc);

// Takes an access that a watchpoint caught, without asking the sampler. From inside the guard. `frame` is
// that of the code that made the access, as if it were in its hook.
RB_HIDDEN void rb_access_trapped(struct rb_self *me, const struct rb_memory_access *t,
                                 const struct rb_unwind_frame *frame);

// ---- accesses that fault (faults.c) --------------------------------------------------------------------

// Reads up to 8 bytes of the program's memory by the kernel. Returns 0 or -errno.
RB_HIDDEN int rb_memory_read(uintptr_t address, size_t bytes, uint64_t *value);
// Returns true if the access is known to fault.
RB_HIDDEN bool rb_access_faults(const struct rb_memory_access *t);

struct rb_undone;
// Forgets the access that has faulted at the address, outside the guard. `me` is NULL for a thread without
// a state.
RB_HIDDEN void rb_access_undo(struct rb_self *me, uintptr_t address, struct rb_undone *undone);
// Records it after all, once the program's handler has returned.
RB_HIDDEN void rb_access_redo(struct rb_self *me, const struct rb_undone *undone);

// ---- sampling.c: which accesses are taken --------------------------------------------------------------
// The rule all samplers share: rb_skip accesses are passed over without a question. Then `rb_sampling_next`
// decides about one access and sets how many may be passed over after it.

RB_HIDDEN int rb_sampling_init(const struct rb_sampler_spec *spec, uint64_t seed);
RB_HIDDEN void rb_sampling_reset_after_fork(void);
// Begins a thread: sets rb_skip. A context that is made for later (fibers) has it in fiber_skip.
RB_HIDDEN void rb_sampling_start(struct rb_self *me);
RB_HIDDEN void rb_sampling_settle(struct rb_self *me); // counts the accesses passed over so far
RB_HIDDEN void rb_sampling_end(struct rb_self *me);    // the same, for the last time, on the thread itself
RB_HIDDEN void rb_sampling_free(struct rb_self *me);   // gives back the thread's unused share
RB_HIDDEN void rb_sampling_spawn(struct rb_self *me);  // it is about to make a thread
// Charges the time of an access, and of a synchronisation operation, if rb_process.by_cost. The latter is
// also called now and then with 0, after many operations that were too short to be timed.
RB_HIDDEN void rb_sampling_cost(struct rb_self *me, uint64_t ticks);
RB_HIDDEN void rb_sampling_synced(struct rb_self *me, uint64_t ticks);
RB_HIDDEN enum rb_take rb_sampling_next(struct rb_self *me, uintptr_t pc);
// Returns the most bytes taken of a range. Ranges of at most RB_PIECE bytes are taken whole.
#define RB_PIECE 512u
RB_HIDDEN size_t rb_sampling_piece(void);
// Functions with two copies (docs/explanation/copies.md): a thread enters the instrumented copy. Not called while
// false.
extern RB_HIDDEN bool rb_gates_on;
RB_HIDDEN void rb_sampling_gate(unsigned char *gate);
// Returns true if the thread shall go on in the instrumented copy. It is at a branch of the plain copy, at
// the place that returns to pc.
RB_HIDDEN int rb_sampling_probe(uintptr_t nothing, uintptr_t nothing_either, uintptr_t pc);
RB_HIDDEN void rb_sampling_enter(uintptr_t caller_pc, uintptr_t function_pc);
RB_HIDDEN void rb_sampling_exit(void);
// Returns true if the synchronisation operation is to be processed, if rb_process.windows. An acquire calls
// it after it has really happened, a release before it does. `locks` more are held after it.
// rb_sampling_quiet returns true if an operation would be passed over now.
RB_HIDDEN bool rb_sampling_sync(struct rb_self *me, int locks);
RB_HIDDEN bool rb_sampling_quiet(void);

#endif
