// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LiteRace's seven samplers (PLDI 2009, table 3) on a trace. A decision is made for each call of a function
// (sample/calls.h) and holds for the accesses directly in that call. Where the trace has no function
// events, each execution of a code location counts as a call of that location.
#include <errno.h>

#include "sample/calls.h"
#include "sample/sampler.h"

#define DEPTH_FIRST 256u

static const struct rb_call_policy tl_ad = {.per_thread = true, .rates = 4, .rate = {1, 0.1, 0.01, 0.001}};
static const struct rb_call_policy tl_fx = {.per_thread = true, .rates = 1, .rate = {0.05}};
static const struct rb_call_policy g_ad = {.rates = 11,
                                           .rate = {1, 0.5, 0.25, 0.125, 0.0625, 1 / 32.0, 1 / 64.0,
                                                    1 / 128.0, 1 / 256.0, 1 / 512.0, 0.001}};
static const struct rb_call_policy g_fx = {.rates = 1, .rate = {0.1}};
static const struct rb_call_policy rnd10 = {.chance = 0.10};
static const struct rb_call_policy rnd25 = {.chance = 0.25};
static const struct rb_call_policy ucp = {.per_thread = true, .uncold = true};

// Open calls of a thread, innermost last, one byte each: taken or not.
struct frames {
    uint8_t *taken;
    uint32_t depth, room;
};

struct rb_regions {
    uint64_t per_thread; // regions a thread
    struct rb_calls *calls;
    struct frames *frames;
};

// Counts one call and returns true if it is taken.
static bool count_call(struct rb_sampler *s, uint32_t thread, uint64_t id)
{
    struct rb_regions *g = s->regions;
    const struct rb_call_policy *p = s->ops->calls;

    return rb_call(p, &g->calls[(p->per_thread ? thread * g->per_thread : 0) + id], &s->rng);
}

static bool push_frame(struct rb_sampler *s, struct frames *f, bool taken)
{
    if (f->depth == f->room) {
        const uint32_t room = f->room ? 2 * f->room : DEPTH_FIRST;
        uint8_t *bigger = rb_arena_alloc(&s->arena, room);
        if (!bigger)
            return false;
        for (uint32_t i = 0; i < f->depth; i++)
            bigger[i] = f->taken[i];
        rb_arena_free(&s->arena, f->taken, f->room);
        f->taken = bigger;
        f->room = room;
    }
    f->taken[f->depth++] = taken;
    return true;
}

static int start_regions(struct rb_sampler *s)
{
    const struct rb_call_policy *p = s->ops->calls;
    struct rb_regions *g = rb_arena_zalloc(&s->arena, sizeof(*g));
    const uint64_t scopes = p->per_thread && s->world.threads > 0 ? s->world.threads : 1;

    s->by_location = s->world.functions == 0;
    s->regions = g;
    if (!g)
        return -ENOMEM;
    // A thread's accesses outside any function belong to region 0, functions follow.
    g->per_thread = 1 + (s->by_location ? s->world.locations : s->world.functions);
    if (g->per_thread > (UINT64_C(1) << 40) / scopes)
        return -ENOMEM;
    g->calls = rb_arena_zalloc(&s->arena, scopes * g->per_thread * sizeof(struct rb_calls));
    g->frames = rb_arena_zalloc(&s->arena, s->world.threads * sizeof(struct frames));
    if (!g->calls || !g->frames)
        return -ENOMEM;
    for (uint32_t t = 0; !s->by_location && t < s->world.threads; t++)
        if (!push_frame(s, &g->frames[t], count_call(s, t, 0)))
            return -ENOMEM;
    return 0;
}

static enum rb_take ask_region(struct rb_sampler *s, uint32_t thread, uint32_t location)
{
    if (s->by_location)
        return count_call(s, thread, 1 + location) ? RB_TAKE : RB_PASS;
    const struct frames *f = &s->regions->frames[thread];
    return f->taken[f->depth - 1] ? RB_TAKE : RB_PASS;
}

static void enter_region(struct rb_sampler *s, uint32_t thread, uint64_t function)
{
    if (!s->by_location)
        push_frame(s, &s->regions->frames[thread], count_call(s, thread, 1 + function));
}

static void leave_region(struct rb_sampler *s, uint32_t thread)
{
    if (!s->by_location && s->regions->frames[thread].depth > 1)
        s->regions->frames[thread].depth--;
}

#define REGION_SAMPLER(id, policy, text, meaning)                          \
    const struct rb_sampler_ops rb_sample_##id = {.name = text,            \
                                                  .parameters = "",        \
                                                  .help = meaning,         \
                                                  .wants_functions = true, \
                                                  .calls = &policy,        \
                                                  .start = start_regions,  \
                                                  .ask = ask_region,       \
                                                  .enter = enter_region,   \
                                                  .exit = leave_region};

REGION_SAMPLER(literace, tl_ad, "literace", "per function and thread: 100, 10, 1, 0.1 %, bursts of 10 calls")
REGION_SAMPLER(tl_fx, tl_fx, "tl-fx", "per function and thread: 5 %, bursts of 10 calls")
REGION_SAMPLER(g_ad, g_ad, "g-ad", "per function, all threads together: 100, 50, 25 ... 0.1 %, bursts of 10")
REGION_SAMPLER(g_fx, g_fx, "g-fx", "per function, all threads together: 10 %, bursts of 10 calls")
REGION_SAMPLER(rnd10, rnd10, "rnd10", "each call with probability 10 %")
REGION_SAMPLER(rnd25, rnd25, "rnd25", "each call with probability 25 %")
REGION_SAMPLER(ucp, ucp, "ucp", "all but the first 10 calls per function and thread")
