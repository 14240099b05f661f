// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PACER in the running program: periods of LENGTH accesses of all threads together, each a sampling period
// with probability P (sample/pacer.h, as on a trace). Inside sampling periods accesses are taken. Outside,
// they are checked against the accesses recorded there.
//
// Positions in time are handed out in batches: a thread claims the next BATCH numbers (LENGTH if that is
// less) for its next accesses. So the shared counter is written once per batch. All accesses of a batch are
// in the period of the first. The number of an access does not depend on the choice of sampled periods, so
// each access is recorded with probability P. Batches only blur the position of a period in time: a thread
// that sleeps within a batch makes the rest of its accesses later.
#include "run/access/access.h"
#include "run/sampler/sampling.h"
#include "sample/periods.h"

#define BATCH 64u

// Under `lock`.
static rb_spin lock;
static struct rb_rng rng;
static uint64_t handed_out; // numbers handed out so far
static uint64_t from, to;   // the last sampling period drawn
static uint32_t batch;

static int pacer_init(void)
{
    const uint64_t length = rb_sampling_process.spec.length;

    lock = 0;
    rb_rng_seed(&rng, rb_sampling_process.seed);
    handed_out = from = to = 0;
    batch = length < BATCH ? (uint32_t)length : BATCH;
    return 0;
}

static void claim_period(struct rb_sampling *s)
{
    const uint64_t length = rb_sampling_process.spec.length;

    rb_spin_lock(&lock);
    while (handed_out >= to) {
        const uint64_t gap = rb_pacer_gap(&rb_sampling_process.gaps, &rng, length);
        const bool never = gap > RB_GAP_END - to || length > RB_GAP_END - to - gap;
        from = never ? RB_GAP_END : to + gap;
        to = never ? RB_GAP_END : from + length;
    }
    s->take = handed_out >= from;
    handed_out += batch;
    rb_spin_unlock(&lock);
    s->left = batch;
}

static enum rb_take pacer_decide(struct rb_self *me, uintptr_t pc, uint64_t passed, uint64_t *gap)
{
    struct rb_sampling *s = &me->sampling;

    (void)pc;
    (void)passed;
    if (s->left == 0)
        claim_period(s);
    s->left--;
    *gap = 0;
    return s->take ? RB_TAKE : RB_CHECK;
}

const struct rb_policy rb_policy_pacer = {.ops = &rb_sample_pacer,
                                          .whole = true,
                                          .init = pacer_init,
                                          .next = pacer_decide};
