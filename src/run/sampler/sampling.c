// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sampling in the running program: the counts, the calls of the policy, and the policies without state.
//
// rb_skip counts down from `granted`, so granted - rb_skip accesses have passed since it was set. Before
// rb_skip is set anew, that difference is added to the thread's `accesses`. So the count is exact for every
// policy. Only the accesses that a thread still running at the end has passed over since its last decision
// are missing.
#include "run/sampler/sampling.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/pages.h"
#include "run/access/access.h"
#include "run/core/arch.h"
#include "run/core/footprint.h"
#include "run/core/upcalls.h"
#include "run/sites/sites.h"

bool rb_functions_wanted, rb_gates_on;
struct rb_sampling_process rb_sampling_process;

// ---- all, none, random ---------------------------------------------------------------------------------

static enum rb_take next_all(struct rb_self *me, uintptr_t pc, uint64_t passed, uint64_t *gap)
{
    (void)me;
    (void)pc;
    (void)passed;
    *gap = 0;
    return RB_TAKE;
}

// Gap after a call site that cannot sleep.
#define GATED 4096u

// Pauses tracking: without reports, order is not needed, except in a recording.
static int init_none(void)
{
    rb_process.paused = !rb_options.record[0];
    return 0;
}

static enum rb_take next_none(struct rb_self *me, uintptr_t pc, uint64_t passed, uint64_t *gap)
{
    (void)passed;
    *gap = rb_site_sleep(me, rb_site_at(me, pc)) ? 0 : GATED;
    return RB_PASS;
}

static bool gate_none(struct rb_self *me, struct rb_site *gate)
{
    rb_site_sleep(me, gate);
    return false;
}

static uint64_t begin_random(struct rb_self *me)
{
    return rb_gaps_draw(&rb_sampling_process.gaps, &me->rng);
}

static enum rb_take next_random(struct rb_self *me, uintptr_t pc, uint64_t passed, uint64_t *gap)
{
    (void)pc;
    (void)passed;
    *gap = rb_gaps_draw(&rb_sampling_process.gaps, &me->rng);
    return RB_TAKE;
}

const struct rb_policy rb_policy_all = {.ops = &rb_sample_all, .next = next_all};
const struct rb_policy rb_policy_none = {.ops = &rb_sample_none,
                                         .init = init_none,
                                         .next = next_none,
                                         .gate = gate_none};
const struct rb_policy rb_policy_random = {.ops = &rb_sample_random,
                                           .begin = begin_random,
                                           .next = next_random};

// All samplers that work in a running program.
static const struct rb_policy *const policies[] = {
#define RB_SAMPLER(id) &rb_policy_##id,
#include "sample/samplers.def"
#undef RB_SAMPLER
};

// ---- counts, and calls of the policy -------------------------------------------------------------------

uint64_t rb_sampling_passed(struct rb_self *me)
{
    const uint64_t passed = (uint64_t)(me->granted - rb_skip);

    me->granted = rb_skip;
    me->count.accesses += passed;
    return passed;
}

void rb_sampling_grant(struct rb_self *me, uint64_t gap)
{
    me->granted = gap < (uint64_t)RB_NEVER ? (int64_t)gap : RB_NEVER;
    rb_skip = me->granted;
}

int rb_sampling_zero_table(void **table, size_t bytes)
{
    if (*table)
        return madvise(*table, bytes, MADV_DONTNEED) ? -errno : 0;
    *table = rb_pages_map(bytes);
    return *table ? 0 : -ENOMEM;
}

enum rb_take rb_sampling_next(struct rb_self *me, uintptr_t pc)
{
    uint64_t gap;
    const enum rb_take answer = rb_sampling_process.policy->next(me, pc, rb_sampling_passed(me), &gap);

    rb_sampling_grant(me, gap);
    return answer;
}

size_t rb_sampling_piece(void)
{
    const struct rb_policy *policy = rb_sampling_process.policy;

    if (rb_process.take_all || policy->whole)
        return SIZE_MAX;
    return RB_PIECE;
}

// Passes a gate, or a probe between the two copies. Returns true if it is open afterwards.
static bool pass_gate(struct rb_self *me, uintptr_t pc, bool gate)
{
    const uint64_t start = rb_process.by_cost ? rb_arch_ticks() : 0;
    struct rb_site *s = gate ? rb_gate_at(pc) : rb_site_at(me, pc);

    if (!rb_site_can_sleep(s))
        return true;
    const bool open = rb_sampling_process.policy->gate(me, s);
    if (start)
        rb_sampling_cost(me, rb_arch_ticks() - start);
    return open;
}

void rb_sampling_gate(unsigned char *gate)
{
    struct rb_self *me = rb_enter();

    if (!me)
        return;
    pass_gate(me, (uintptr_t)gate, true);
    rb_leave(me);
}

int rb_sampling_probe(uintptr_t nothing, uintptr_t nothing_either, uintptr_t pc)
{
    struct rb_self *me;

    (void)nothing;
    (void)nothing_either;
    if (!rb_gates_on)
        return true; // gates are off: run the instrumented copy
    me = rb_enter();
    if (!me)
        return false;
    const bool open = pass_gate(me, pc, false);
    rb_leave(me);
    return open;
}

void rb_sampling_enter(uintptr_t caller_pc, uintptr_t function_pc)
{
    const uintptr_t stack_pointer = (uintptr_t)__builtin_frame_address(0);
    const struct rb_policy *policy = rb_sampling_process.policy;
    struct rb_self *me;

    (void)caller_pc;
    if (!policy || !policy->enter || !(me = rb_enter()))
        return;
    rb_sampling_passed(me);
    rb_sampling_grant(me, policy->enter(me, function_pc, stack_pointer));
    rb_leave(me);
}

void rb_sampling_exit(void)
{
    const struct rb_policy *policy = rb_sampling_process.policy;
    struct rb_self *me;

    if (!policy || !policy->exit || !(me = rb_enter()))
        return;
    rb_sampling_passed(me);
    rb_sampling_grant(me, policy->exit(me));
    rb_leave(me);
}

// Populates the tables of accesses, which are used from the second thread on. The creator does it, so that
// the new thread does not begin with page faults.
static void populate_tables_once(void)
{
    static bool populated;

    if (rb_sampling_process.policy != &rb_policy_none && !rb_exchange_relaxed(&populated, true))
        rb_footprint_warm();
}

void rb_sampling_spawn(struct rb_self *me)
{
    const struct rb_policy *policy = rb_sampling_process.policy;

    populate_tables_once();
    if (policy->spawn)
        policy->spawn(me);
}

void rb_sampling_cost(struct rb_self *me, uint64_t ticks)
{
    rb_sampling_process.policy->cost(me, ticks);
}

void rb_sampling_synced(struct rb_self *me, uint64_t ticks)
{
    rb_sampling_process.policy->synced(me, ticks);
}

bool rb_sampling_sync(struct rb_self *me, int locks)
{
    return rb_sampling_process.policy->sync(me, locks);
}

void rb_sampling_settle(struct rb_self *me)
{
    rb_sampling_passed(me);
}

// ---- life ----------------------------------------------------------------------------------------------

static int start_policy(void)
{
    const struct rb_policy *policy = rb_sampling_process.policy;

    rb_arena_init(&rb_sampling_process.arena, rb_options.memory / 8);
    rb_sampling_process.alive = rb_sampling_process.most_alive = rb_sampling_process.fibers = 0;
    return policy->init ? policy->init() : 0;
}

int rb_sampling_init(const struct rb_sampler_spec *spec, uint64_t seed)
{
    const struct rb_policy *policy = NULL;

    for (unsigned i = 0; i < RB_LENGTH(policies); i++)
        if (policies[i]->ops == spec->ops)
            policy = policies[i];
    if (!policy)
        return -EINVAL;
    rb_sampling_process.policy = policy;
    rb_sampling_process.spec = *spec;
    rb_sampling_process.seed = seed;
    rb_gaps_init(&rb_sampling_process.gaps, spec->p);
    rb_process.take_all = spec->ops->takes_all;
    rb_process.windows = policy->sync != NULL;
    rb_process.by_cost = policy->cost != NULL;
    rb_functions_wanted = policy->enter != NULL;
    // No gates with a trace, which contains the entries and exits of functions, or with watchpoints: a
    // trapped access is judged by the hook before it.
    rb_gates_on = policy->gate && !rb_options.record[0] && !rb_options.watch;
    return start_policy();
}

// Gives a child random numbers of its own; with a seed of the user's, the same ones in every run.
void rb_sampling_reset_after_fork(void)
{
    rb_sampling_process.seed = rb_mix64(rb_sampling_process.seed + (rb_options.seed ? 1 : rb_process.pid));
    rb_arena_destroy(&rb_sampling_process.arena);
    start_policy(); // cannot fail: the parent has mapped all it needs
}

void rb_sampling_start(struct rb_self *me)
{
    const bool here = rb_self_tls == me; // else a context that runs later (fibers)

    rb_rng_seed(&me->rng, rb_sampling_process.seed + me->id * RB_GOLDEN);
    if (here) {
        const uint32_t alive = rb_add_fetch_relaxed(&rb_sampling_process.alive, 1);
        uint32_t most = rb_load_relaxed(&rb_sampling_process.most_alive);
        while (alive > most && !rb_cas_weak_relaxed(&rb_sampling_process.most_alive, &most, alive))
            ;
        me->sampling.counted = &rb_sampling_process.alive;
    } else {
        rb_fetch_add_relaxed(&rb_sampling_process.fibers, 1);
        me->sampling.counted = &rb_sampling_process.fibers;
    }
    const struct rb_policy *policy = rb_sampling_process.policy;
    const int64_t skip = rb_skip;
    rb_sampling_grant(me, policy->begin ? policy->begin(me) : 0);
    if (!here) {
        me->fiber_skip = rb_skip;
        rb_skip = skip;
    }
}

void rb_sampling_free(struct rb_self *me)
{
    const struct rb_policy *policy = rb_sampling_process.policy;

    if (policy->end)
        policy->end(me);
    if (me->sampling.counted)
        rb_fetch_sub_relaxed(me->sampling.counted, 1);
    me->sampling = (struct rb_sampling){0};
}

void rb_sampling_end(struct rb_self *me)
{
    rb_sampling_settle(me);
    rb_sampling_free(me);
}
