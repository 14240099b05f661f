// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sampling in the running program: the interface between sampling.c, which keeps the counts, and the
// policies, one per file. access.h is the interface to the rest of the runtime.
//
// A policy decides about one access at a time and returns the gap: the number of accesses to pass over
// before the next decision. Until then an access costs one decrement (rb_skip). The hooks of struct
// rb_policy give a policy all other input.
//
// Decisions are drawn from the thread's own generator, or from the policy's single generator under its
// lock. The thread's generator is seeded from the process's seed and the thread's number. The same seed and
// the same order of threads give the same decisions.
//
// All hooks are called inside the guard, so no signal handler observes a partial update.
#ifndef RB_RUN_SAMPLER_SAMPLING_H
#define RB_RUN_SAMPLER_SAMPLING_H

#include "base/gaps.h"
#include "run/core/rt.h"
#include "sample/calls.h"
#include "sample/sampler.h"

struct rb_site;

struct rb_policy {
    const struct rb_sampler_ops *ops; // the same sampler on a trace
    bool whole;                       // a range is checked completely, not in a piece
    // Starts the process, or the child of fork. Returns a negative errno if memory is exhausted.
    int (*init)(void);
    // Starts a thread and returns its first gap (NULL: 0); ends it and frees its memory.
    uint64_t (*begin)(struct rb_self *me);
    void (*end)(struct rb_self *me);
    // Decides about the access at `pc`, the last of `passed` since the last decision, and sets the next
    // gap.
    enum rb_take (*next)(struct rb_self *me, uintptr_t pc, uint64_t passed, uint64_t *gap);
    // Region policies: enters or leaves a function and returns the gap from here on.
    uint64_t (*enter)(struct rb_self *me, uintptr_t function, uintptr_t stack_pointer);
    uint64_t (*exit)(struct rb_self *me);
    // Policies that put sites and whole functions to sleep: called at a gate or a probe. Returns true if
    // the thread shall run the instrumented copy.
    bool (*gate)(struct rb_self *me, struct rb_site *gate);
    // Policies that may skip synchronisation: returns true if this operation is to be processed. `locks`
    // more are held after it.
    bool (*sync)(struct rb_self *me, int locks);
    // Called before the thread creates another one.
    void (*spawn)(struct rb_self *me);
    // Policies with measured cost: charges the last access, which took `ticks` from decision to result.
    void (*cost)(struct rb_self *me, uint64_t ticks);
    // Charges a synchronisation operation; `ticks` is 0 for a batch of operations that were not timed.
    void (*synced)(struct rb_self *me, uint64_t ticks);
};

#define RB_SAMPLER(id) extern RB_HIDDEN const struct rb_policy rb_policy_##id;
#include "sample/samplers.def"
#undef RB_SAMPLER

// The random subset of code locations, of share spec.p (sampling_static.c). Called inside the guard.
RB_HIDDEN int rb_static_init(void);
RB_HIDDEN bool rb_static_chosen(uintptr_t pc);

// Sampling state of the process. Written at start; `alive`, `most_alive` and `fibers` by threads that start
// or end.
struct rb_sampling_process {
    const struct rb_policy *policy;
    struct rb_sampler_spec spec;
    uint64_t seed;
    struct rb_gaps gaps;   // with probability spec.p, for policies that draw gaps
    struct rb_arena arena; // memory of the threads' sampling state
    uint32_t alive, most_alive;
    uint32_t fibers;
};
extern RB_HIDDEN struct rb_sampling_process rb_sampling_process;

// Returns false if no two accesses can race: there is one thread, and no fiber.
RB_INLINE bool rb_sampling_has_others(void)
{
    return rb_load_relaxed(&rb_sampling_process.alive) + rb_load_relaxed(&rb_sampling_process.fibers) > 1;
}

// Statistics of the adaptive policy for a run.
struct rb_adaptive_summary {
    uint64_t episodes;            // in which synchronisation was followed
    uint64_t windows, in_windows; // accesses taken in them
    uint64_t accesses;            // of the program, estimated from the counted ones; 0: unknown
    uint64_t window_ppb;          // share of them that windows took, in billionths
    uint64_t cost_ppm;            // measured cost, in millionths of the program's own time
    uint64_t sync_ppm;            // of that, synchronisation
    uint64_t watch_ppm;           // of that, watchpoints
};
RB_HIDDEN void rb_adaptive_summary(struct rb_adaptive_summary *a);
// Returns false if the sampler is paused, so the present access is not to be checked. To be called before
// the lookup in the history, not after it.
RB_HIDDEN bool rb_adaptive_taking(void);
RB_HIDDEN bool rb_adaptive_affords(void); // returns true if work other than an access may be paid for

// For policies that change the thread's gap outside `next`, `enter` and `exit`: count and return the
// accesses passed over since the last decision, and set a new gap.
RB_HIDDEN uint64_t rb_sampling_passed(struct rb_self *me);
RB_HIDDEN void rb_sampling_grant(struct rb_self *me, uint64_t gap);

// Maps `*table` as `bytes` zeros, or clears it if it is mapped already (a child of fork). Returns 0 or a
// negative errno; `*table` is NULL after a failed mapping.
RB_HIDDEN int rb_sampling_zero_table(void **table, size_t bytes);

#endif
