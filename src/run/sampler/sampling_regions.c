// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LiteRace's family in the running program: sampling is on or off from one function event to the next.
// sample/calls.h decides which calls are taken, as on a trace. This file keeps the counters of functions
// and the open calls.
//
// A function is identified by the return address of its __tsan_func_entry. Counters of "TL" policies are in
// a table of the thread, those of "G" policies in a table of the process, updated by compare-and-exchange.
// Tables are bounded: a function without a free slot shares the counter of its home slot, and is counted
// (`crowded`).
//
// Open calls are a stack. Calls are never exited after a longjmp, or a switch between stacks that is
// unknown to the runtime. So each call carries the stack pointer of its entry. An entry on the thread's own
// stack ends the calls at or below its own pointer. Calls on another stack (a handler's) have pointer 0:
// the next entry on the thread's own stack ends them. So the depth is right again after one call. Until
// then a wrong decision may hold, which affects the sampling rate and nothing else.
//
// Calls deeper than DEEPEST, or than memory allows, share the decision of the innermost known call.
#include "run/access/access.h"
#include "run/sampler/sampling.h"

#define SHALLOW    32u    // initial capacity for open calls
#define DEEPEST    4096u  // greatest capacity for open calls
#define FEW        64u    // initial slots for functions; a power of two
#define MANY       16384u // greatest number of them; a power of two
#define ALL_SHARED 65536u // slots for functions of all threads together
#define PROBES     64u

struct rb_function {
    uintptr_t pc; // 0: free slot
    union {
        struct rb_calls calls;
        uint32_t word; // the same, for compare-and-exchange
    };
};

static struct rb_function *shared; // ALL_SHARED of them; the first is for accesses outside functions

static const struct rb_call_policy *call_policy(void)
{
    return rb_sampling_process.spec.ops->calls;
}

static uint32_t home_slot(uintptr_t pc, uint32_t slots)
{
    return (uint32_t)(pc * RB_GOLDEN >> 32) & (slots - 1);
}

// ---- counters of a thread ------------------------------------------------------------------------------

static void grow_calls(struct rb_sampling *s)
{
    const uint32_t slots = s->slots ? 2 * s->slots : FEW;
    struct rb_function *bigger;

    if (slots > MANY ||
        !(bigger = rb_arena_zalloc(&rb_sampling_process.arena, slots * sizeof(struct rb_function))))
        return;
    for (uint32_t i = 0; i < s->slots; i++) {
        uint32_t at = home_slot(s->function[i].pc, slots);
        if (!s->function[i].pc)
            continue;
        while (bigger[at].pc)
            at = (at + 1) & (slots - 1);
        bigger[at] = s->function[i];
    }
    rb_arena_free(&rb_sampling_process.arena, s->function, s->slots * sizeof(struct rb_function));
    s->function = bigger;
    s->slots = slots;
}

// Returns a slot for a new function; NULL without a table.
static struct rb_calls *new_function(struct rb_self *me, uintptr_t pc)
{
    struct rb_sampling *s = &me->sampling;

    if (4 * (s->functions + 1) > 3 * s->slots)
        grow_calls(s);
    const bool crowded = 8 * (s->functions + 1) > 7 * s->slots;
    me->count.crowded += crowded;
    if (!s->slots)
        return NULL;
    uint32_t at = home_slot(pc, s->slots);
    if (crowded)
        return &s->function[at].calls;
    while (s->function[at].pc)
        at = (at + 1) & (s->slots - 1);
    s->function[at].pc = pc;
    s->functions++;
    return &s->function[at].calls;
}

static struct rb_calls *find_function(struct rb_self *me, uintptr_t pc)
{
    struct rb_sampling *s = &me->sampling;

    if (s->slots) {
        uint32_t at = home_slot(pc, s->slots);
        while (s->function[at].pc && s->function[at].pc != pc)
            at = (at + 1) & (s->slots - 1);
        if (RB_LIKELY(s->function[at].pc))
            return &s->function[at].calls;
    }
    return new_function(me, pc);
}

static bool call_counted_here(struct rb_self *me, uintptr_t pc)
{
    struct rb_calls *calls = find_function(me, pc);

    return calls && rb_call(call_policy(), calls, &me->rng);
}

// ---- counters of all threads together ------------------------------------------------------------------

// Returns the function's slot: its own, a free one, or else its home slot, shared with another function.
static struct rb_function *place_of(struct rb_self *me, uintptr_t pc)
{
    const uint32_t first = home_slot(pc, ALL_SHARED);

    for (uint32_t i = 0; i < PROBES; i++) {
        struct rb_function *f = &shared[(first + i) & (ALL_SHARED - 1)];
        uintptr_t seen = rb_load_relaxed(&f->pc);
        if (!seen && f != shared && rb_cas_strong_relaxed(&f->pc, &seen, pc))
            return f;
        if (seen == pc)
            return f;
    }
    me->count.crowded++;
    return &shared[first];
}

static bool call_counted_by_all(struct rb_self *me, struct rb_function *f)
{
    struct rb_function next;
    uint32_t seen = rb_load_relaxed(&f->word);
    bool taken;

    do {
        next.word = seen;
        taken = rb_call(call_policy(), &next.calls, &me->rng);
    } while (!rb_cas_weak_relaxed(&f->word, &seen, next.word));
    return taken;
}

static bool decide_call(struct rb_self *me, uintptr_t pc)
{
    if (call_policy()->chance > 0)
        return rb_call(call_policy(), NULL, &me->rng);
    return call_policy()->per_thread ? call_counted_here(me, pc) : call_counted_by_all(me, place_of(me, pc));
}

// ---- open calls ----------------------------------------------------------------------------------------

static bool make_room(struct rb_sampling *s)
{
    const uint32_t room = s->room ? 2 * s->room : SHALLOW;
    uintptr_t *bigger;

    if (room > DEEPEST || !(bigger = rb_arena_alloc(&rb_sampling_process.arena, room * sizeof(*bigger))))
        return false;
    for (uint32_t i = 0; i < s->depth; i++)
        bigger[i] = s->open[i];
    rb_arena_free(&rb_sampling_process.arena, s->open, s->room * sizeof(*bigger));
    s->open = bigger;
    s->room = room;
    return true;
}

static uint64_t gap_now(const struct rb_sampling *s)
{
    const bool taken = s->depth ? s->open[s->depth - 1] & 1 : s->outside;

    return taken ? 0 : RB_GAP_END;
}

static uint64_t enter_function(struct rb_self *me, uintptr_t pc, uintptr_t stack_pointer)
{
    struct rb_sampling *s = &me->sampling;
    const bool own = stack_pointer >= me->walk.stack_lo && stack_pointer < me->walk.stack_hi;

    while (own && s->depth && (s->open[s->depth - 1] & ~(uintptr_t)1) <= stack_pointer) {
        s->depth--;
        s->beyond = 0;
    }
    if (s->beyond || (s->depth == s->room && !make_room(s))) {
        s->beyond++;
        return gap_now(s);
    }
    s->open[s->depth++] = (own ? stack_pointer & ~(uintptr_t)1 : 0) | decide_call(me, pc);
    return gap_now(s);
}

static uint64_t leave_function(struct rb_self *me)
{
    struct rb_sampling *s = &me->sampling;

    if (s->beyond)
        s->beyond--;
    else if (s->depth)
        s->depth--;
    return gap_now(s);
}

// ---- the policy ----------------------------------------------------------------------------------------

static int init_shared(void)
{
    void *table = shared;
    const int error = rb_sampling_zero_table(&table, ALL_SHARED * sizeof(*shared));

    shared = table;
    return error;
}

// Treats the code outside functions as one call that lasts as long as the thread.
static uint64_t regions_begin_thread(struct rb_self *me)
{
    struct rb_calls first = {0};

    if (call_policy()->per_thread || call_policy()->chance > 0)
        me->sampling.outside = rb_call(call_policy(), &first, &me->rng);
    else
        me->sampling.outside = call_counted_by_all(me, shared);
    return gap_now(&me->sampling);
}

static void regions_end_thread(struct rb_self *me)
{
    struct rb_sampling *s = &me->sampling;

    rb_arena_free(&rb_sampling_process.arena, s->open, s->room * sizeof(*s->open));
    rb_arena_free(&rb_sampling_process.arena, s->function, s->slots * sizeof(*s->function));
}

static enum rb_take regions_decide(struct rb_self *me, uintptr_t pc, uint64_t passed, uint64_t *gap)
{
    (void)pc;
    (void)passed;
    *gap = gap_now(&me->sampling);
    return *gap ? RB_PASS : RB_TAKE;
}

#define REGION_POLICY(id, init_function)                                    \
    const struct rb_policy rb_policy_##id = {.ops = &rb_sample_##id,        \
                                             .init = init_function,         \
                                             .begin = regions_begin_thread, \
                                             .end = regions_end_thread,     \
                                             .next = regions_decide,        \
                                             .enter = enter_function,       \
                                             .exit = leave_function};
REGION_POLICY(literace, NULL)
REGION_POLICY(tl_fx, NULL)
REGION_POLICY(g_ad, init_shared)
REGION_POLICY(g_fx, init_shared)
REGION_POLICY(rnd10, NULL)
REGION_POLICY(rnd25, NULL)
REGION_POLICY(ucp, NULL)
