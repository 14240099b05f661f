// Sampling in the running program: what the policies share. access.h is the contract towards the rest of the
// runtime, this header the one between sampling.c, which keeps the books, and the policies, one a file.
//
// A policy is asked about one access at a time and answers how many may be passed over before the next
// question; until then an access costs one decrement (rb_skip). What it needs from others it gets through the
// hooks of struct rb_policy. Decisions are drawn from the thread's own generator, seeded from the process's
// seed and the thread's number, or from the policy's one generator under its lock: the same seed and the same
// order of threads give the same decisions.
//
// All hooks are called inside the guard, so no signal handler sees them half done.
#ifndef RB_RUN_SAMPLER_SAMPLING_H
#define RB_RUN_SAMPLER_SAMPLING_H

#include "base/gaps.h"
#include "run/core/rt.h"
#include "sample/calls.h"
#include "sample/sampler.h"

struct rb_site;

struct rb_policy {
    const struct rb_sampler_ops *ops; // the same on a trace
    bool whole;                       // a range is looked at whole, not in a piece
    size_t (*piece)(void);            // of how many bytes at most; without it RB_PIECE
    // The process starts, or goes on as the child of fork. Negative errno when memory is out.
    int (*init)(void);
    // A thread starts: its first gap. It ends: gives back what it has.
    uint64_t (*begin)(struct rb_self *me);
    void (*end)(struct rb_self *me);
    // The access at `pc`, the last of `passed` since the last question; *gap may be passed over after it.
    enum rb_take (*next)(struct rb_self *me, uintptr_t pc, uint64_t passed, uint64_t *gap);
    // Region policies: a function is entered, or left; the gap from here on.
    uint64_t (*enter)(struct rb_self *me, uintptr_t function, uintptr_t stack_pointer);
    uint64_t (*exit)(struct rb_self *me);
    // Policies that put sites to sleep and may do so with whole functions: somebody goes through the gate, or
    // comes to a probe. Is the body with hooks wanted?
    bool (*gate)(struct rb_self *me, struct rb_site *gate);
    // Policies that may do without synchronisation: is this operation to be processed? `locks` more are held.
    bool (*sync)(struct rb_self *me, int locks);
    // The thread is about to make another one.
    void (*spawn)(struct rb_self *me);
    // Policies that go by cost: the last access took so many ticks of the clock, from question to answer.
    void (*cost)(struct rb_self *me, uint64_t ticks);
    // The same of a synchronisation operation, and 0 for many that were not timed.
    void (*synced)(struct rb_self *me, uint64_t ticks);
};

extern RB_HIDDEN const struct rb_policy rb_policy_literace, rb_policy_tl_fx, rb_policy_g_ad, rb_policy_g_fx,
    rb_policy_rnd10, rb_policy_rnd25, rb_policy_ucp, rb_policy_pacer, rb_policy_rpt, rb_policy_static,
    rb_policy_adaptive, rb_policy_crsampler, rb_policy_datacollider;

// Which code locations a sampler of so many of them has (spec.p): sampling_static.c. Inside the guard.
RB_HIDDEN int rb_static_init(void);
RB_HIDDEN bool rb_static_chosen(uintptr_t pc);

// The process's part. Written at start; `alive`, `most_alive` and `fibers` by threads that come and go.
struct rb_sampling_process {
    const struct rb_policy *policy;
    struct rb_sampler_spec spec;
    uint64_t seed;
    struct rb_gaps gaps;   // of spec.p, for policies that draw by it
    struct rb_arena arena; // what threads keep
    uint32_t alive, most_alive;
    uint32_t fibers;
};
extern RB_HIDDEN struct rb_sampling_process rb_sampling_process;

// Returns false if no two accesses can race: there is one thread, and no fiber.
RB_INLINE bool rb_sampling_has_others(void)
{
    return rb_load_relaxed(&rb_sampling_process.alive) + rb_load_relaxed(&rb_sampling_process.fibers) > 1;
}

// What the adaptive policy can say of a run.
struct rb_adaptive_summary {
    uint64_t episodes;            // in which synchronisation was followed
    uint64_t windows, in_windows; // accesses taken in them
    uint64_t accesses;            // that the program made, estimated from those counted; 0: not known
    uint64_t window_ppb;          // share of them that windows looked at, in billionths
    uint64_t cost_ppm;            // measured, of what the program itself used, in millionths
    uint64_t sync_ppm;            // of that, synchronisation
    uint64_t watch_ppm;           // of that, watchpoints
};
RB_HIDDEN void rb_adaptive_summary(struct rb_adaptive_summary *a);
// Is what is accessed now looked at: false while all rests. Before the history is asked, not after.
RB_HIDDEN bool rb_adaptive_taking(void);
RB_HIDDEN bool rb_adaptive_affords(void); // something that is not an access, and worth its cost

// For policies that change the gap of the thread outside `next`, `enter` and `exit`: accesses passed over
// since the last question (counts them), and a new gap.
RB_HIDDEN uint64_t rb_sampling_passed(struct rb_self *me);
RB_HIDDEN void rb_sampling_grant(struct rb_self *me, uint64_t gap);

#endif
