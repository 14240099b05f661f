// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Data breakpoints (inproc/breakpoints.h) for sampled accesses, and the handling of their traps.
//
// Soundness   A trap comes after the instruction and on its thread, before anything else runs there: the
//             thread's clock is the access's. A trap shown to be a plain access that a hook announced is
//             handled like a sampled one; every other is dropped (trap_decode.c).
// Pauses      While tracking is paused order is not followed: all breakpoints are given up, and a trap that
//             comes nevertheless is not judged. The handler checks that after the access and before the
//             history, as hooks do: docs/explanation/runtime.md, section 3, says why that is enough. A breakpoint is
//             worth something as long as its access is remembered, which is to the end of its generation.
// Reuse       The breakpoint connects nothing: the history decides, which is forgotten when memory starts
//             anew. A breakpoint on memory with a new owner catches accesses of that owner.
// Cost        A trap costs microseconds, on a virtual machine tens of them. A breakpoint is given up after
//             a judged access, or MOST_HITS others. All of it is measured and charged to the allowance, and
//             at most a quarter of the sampler's income goes into it.
#include "run/watchpoint/watchpoints.h"

#include <errno.h>

#include "base/types.h"
#include "inproc/breakpoints.h"
#include "inproc/tool.h"
#include "run/access/access.h"
#include "run/core/upcalls.h"
#include "run/sampler/sampling.h"
#include "run/sites/sites.h"
#include "run/watchpoint/arch_access.h"

#define PLACES       1024u    // of code, by hash
#define LEAST_SHARE  8        // a place gets at least one breakpoint of 2^8 that it might have
#define MOST_HITS    2u       // hits that are not judged, before a breakpoint is given up
#define REACH        64u      // bytes of code between a call site and its access
#define INTERVAL     2500000u // ticks between two that are set, at least
#define SHARE        4        // one part in so many of the sampler's income
#define PURSE        6250000  // ticks that may be saved up
#define FRESH        100000u  // ticks that a write may wait for the thread's next access
#define LONGEST      500000u  // ticks
#define TRACED_TURNS 128u     // of the ticker, between two checks for a debugger
#define UNHEARD      64       // hits in a turn of which no handler heard

// The purpose of a breakpoint.
struct slot {
    uint32_t thread;     // the thread that made the access
    uint32_t generation; // generation of the history that the access is in
    uint32_t hits;
    uint8_t *tried; // counter of the place that it was set at
};

uint64_t rb_watchpoints_next = UINT64_MAX;

// Written by the thread that opens; later under `lock`, which is only ever tried. Traps come anywhere, also
// where it is held: they clear breakpoints and write `hits` alone.
static struct slot slots[RB_BREAKPOINTS];
static uint32_t turn, turns;
static rb_spin lock;
static bool opened, stopped;
static const char *missing;
static int64_t purse;  // ticks that may be spent; below zero nothing is set
static uint64_t spent; // ticks

// For each place: how often a breakpoint set there has been hit. Hits mean data used mostly by one thread,
// or correctly synchronised. One breakpoint in 2^tried is set. So breakpoints go to places that have not
// had one, and to those with data in rare use: there another thread's access is worth waiting for.
static uint8_t tried[PLACES];

// An access to be watched.
struct wanted {
    struct rb_memory_access touch;
    uintptr_t pc;
    uint32_t generation;
    uint64_t since; // ticks
};
static RB_TLS struct wanted waiting; // a write, until the thread is past it

bool rb_watchpoints_on(void)
{
    return rb_breakpoints.count && !rb_load_relaxed(&stopped);
}

const char *rb_watchpoints_missing(void)
{
    return missing;
}

void rb_watchpoints_refused(const char *reason)
{
    char line[256];
    struct rb_text t;

    missing = reason;
    if (rb_process.child) // its parent has printed it
        return;
    rb_text_init(&t, line, sizeof(line));
    if (rb_process.collides) {
        rb_put(&t, "Railbird: sampler=");
        rb_put(&t, rb_options.sampler);
        rb_put(&t, ": no hardware breakpoints: ");
    } else {
        rb_put(&t, "Railbird: watch=1: no hardware breakpoints for sampled accesses: ");
    }
    rb_put(&t, reason);
    rb_put(&t, rb_process.collides ? "; no access is looked at\n" : "; going on without\n");
    rb_say(t.start, (size_t)(t.at - t.start));
}

// ---- breakpoints ---------------------------------------------------------------------------------------

// Returns true if the breakpoint is set, for an access that is still remembered.
static bool is_of_use(unsigned number)
{
    return rb_breakpoint_is_set(number) &&
           slots[number].generation == rb_load_relaxed(&rb_process.generation);
}

static const char *find_obstacle(void)
{
#if defined(RB_STATIC)
    if (rb_process.collides)
        return "in a static program no call site can be verified";
#endif
    return rb_sites_on ? NULL : "the code cannot be changed, so no call site is known";
}

void rb_watchpoints_open(void)
{
    if (opened || !(rb_options.watch || rb_process.collides))
        return;
    opened = true;
    stopped = false;
    missing = NULL;
    const char *reason = find_obstacle();
    if (!reason)
        reason = rb_breakpoints_open(rb_trap_take);
    if (reason)
        rb_watchpoints_refused(reason);
    else if (!rb_process.collides)
        rb_watchpoints_next = 0;
    purse = PURSE;
}

static void give_up_all(void)
{
    rb_store_seq_cst(&rb_watchpoints_next, UINT64_MAX);
    rb_breakpoints_clear_all();
}

void rb_watchpoints_stop(const char *reason)
{
    const int saved = errno;

    if (!rb_breakpoints.count || rb_exchange_seq_cst(&stopped, true))
        return;
    missing = reason;
    give_up_all();
    errno = saved;
}

// Gives up all breakpoints. A thread about to set one is not waited for: its breakpoint is given up when it
// is hit.
void rb_watchpoints_pause(void)
{
    if (rb_watchpoints_on())
        give_up_all();
}

// Closes the breakpoints in the child: their descriptors are the parent's events.
void rb_watchpoints_reset_after_fork(void)
{
    rb_watchpoints_next = UINT64_MAX;
    rb_breakpoints_close();
    if (opened)
        missing = NULL;
    opened = stopped = false;
    lock = 0;
    turn = 0;
    spent = 0;
}

// ---- arming --------------------------------------------------------------------------------------------

// Chooses a free breakpoint, or one in use; RB_BREAKPOINT_NONE: the bytes have one.
static unsigned choose_breakpoint(const struct rb_memory_access *t)
{
    unsigned free_one = RB_BREAKPOINT_NONE;

    for (uint32_t i = 0; i < rb_breakpoints.count; i++) {
        if (!is_of_use(i))
            free_one = i;
        else if (rb_breakpoints.at[i].attr.bp_addr - t->address < t->size)
            return RB_BREAKPOINT_NONE;
    }
    return free_one != RB_BREAKPOINT_NONE ? free_one : turn++ % rb_breakpoints.count;
}

static void pay_ticks(uint64_t ticks)
{
    if (ticks > LONGEST) // not on a core throughout
        ticks = LONGEST;
    rb_fetch_add_relaxed(&spent, ticks);
    if (rb_sub_fetch_relaxed(&purse, (int64_t)ticks) < 0)
        rb_store_relaxed(&rb_watchpoints_next, UINT64_MAX);
}

static uint8_t *place_of(uintptr_t pc)
{
    return &tried[rb_hash(pc, 32) % PLACES];
}

static void set_breakpoint(struct rb_self *me, const struct wanted *w)
{
    const int saved = errno;
    const uint64_t start = rb_arch_ticks();
    const struct rb_memory_access *t = &w->touch;
    unsigned number;

    if (!rb_spin_try(&lock))
        return;
    if (rb_watchpoints_due() && rb_breakpoints_are_ours() &&
        (number = choose_breakpoint(t)) != RB_BREAKPOINT_NONE) {
        slots[number] = (struct slot){me->id, w->generation, 0, place_of(w->pc)};
        me->count.watch_armed++;
        const bool moved =
            rb_breakpoint_set(number, t->address, rb_breakpoint_piece(t->address, t->size), !t->write);
        const uint64_t now = rb_arch_ticks();
        if (rb_load_relaxed(&rb_watchpoints_next) != UINT64_MAX)
            rb_store_relaxed(&rb_watchpoints_next, now + INTERVAL);
        pay_ticks(now - start);
        if (!moved)
            rb_watchpoints_stop("the program has closed their descriptors");
    }
    rb_spin_unlock(&lock);
    errno = saved;
}

// Watches a read at once: its own thread's reads do not trap. A write would first trap itself, because the
// hook comes before it: it waits for the thread's next access, if that comes soon.
void rb_watchpoints_arm(struct rb_self *me, const struct rb_memory_access *t, uintptr_t pc)
{
    const struct wanted w = {*t, pc, rb_load_relaxed(&rb_process.generation), rb_arch_ticks()};

    if (waiting.touch.size && w.since - waiting.since < FRESH && w.generation == waiting.generation) {
        set_breakpoint(me, &waiting);
        waiting.touch.size = 0;
        return;
    }
    if (t->atomic || rb_trapped_is_own(me, t->address) ||
        rb_rng_below(&me->rng, (uint64_t)1 << *place_of(pc)) != 0)
        return;
    if (t->write)
        waiting = w;
    else
        set_breakpoint(me, &w);
}

// ---- traps ---------------------------------------------------------------------------------------------

static void judge_access(struct rb_self *me, const struct rb_trapped *c, const ucontext_t *context)
{
    const struct rb_unwind_frame frame = rb_arch_frame(context, c->site);

    rb_access_trapped(me, &c->touch, &frame);
    rb_races_report(me);
}

static void count_hit(unsigned number, bool judged)
{
    struct slot *s = &slots[number];

    if (rb_add_fetch_relaxed(&s->hits, 1) < MOST_HITS && !judged && is_of_use(number) && rb_adaptive_taking())
        return;
    uint8_t *place = s->tried;
    rb_breakpoint_clear(number);
    if (place)
        *place = (uint8_t)(*place + (*place < LEAST_SHARE));
}

bool rb_watchpoints_trap(siginfo_t *info, void *context)
{
    const struct rb_breakpoint_hit hit = rb_breakpoint_hit(info, context);
    struct rb_trapped caught;
    struct rb_self *me;

    if (hit.number >= RB_BREAKPOINTS)
        return hit.number == RB_BREAKPOINT_LOST;
    const uint64_t start = rb_arch_ticks();
    const struct perf_event_attr *at = &rb_breakpoints.at[hit.number].attr;
    bool judged = false;
    if (!rb_breakpoints_are_ours())
        return true;
    if (rb_load_relaxed(&stopped)) {
        rb_breakpoint_clear(hit.number);
        return true;
    }
    if (rb_process.collides) {
        rb_collide_trap(&hit, context);
        return true;
    }
    me = rb_self_tls ? rb_enter() : NULL;
    if (me) {
        const bool own = slots[hit.number].thread == me->id;
        // Checks first that the access is taken; the history is searched after that.
        const bool there = rb_adaptive_taking() && is_of_use(hit.number) && at->bp_addr == hit.address;
        me->count.watch_trapped++;
        if (own) {
            me->count.watch_own++;
        } else if (there && !hit.late &&
                   rb_trapped_find(me, hit.address, (unsigned)at->bp_len, context, &caught)) {
            judged = true;
            me->count.watch_judged++;
        } else {
            me->count.watch_dropped++;
        }
    }
    count_hit(hit.number, judged);
    const uint64_t ticks = rb_arch_ticks() - start + rb_breakpoints.trap_ticks;
    pay_ticks(ticks);
    if (me) {
        rb_sampling_cost(me, ticks);
        if (judged)
            judge_access(me, &caught, context);
        rb_leave(me);
    }
    return true;
}

// ---- the ticker ----------------------------------------------------------------------------------------

bool rb_watchpoints_check(void)
{
    if (!rb_watchpoints_on())
        return false;
    if (rb_breakpoints_unheard() > UNHEARD)
        rb_watchpoints_stop("the program blocks SIGTRAP");
    else if (++turns % TRACED_TURNS == 0 && rb_breakpoints_traced())
        rb_watchpoints_stop("a debugger is there");
    return rb_watchpoints_on();
}

void rb_watchpoints_turn(int64_t earned, bool open)
{
    if (!rb_watchpoints_check())
        return;
    const int64_t left = rb_add_fetch_relaxed(&purse, earned / SHARE);
    if (left > PURSE)
        rb_store_relaxed(&purse, PURSE);
    const uint64_t due = rb_load_relaxed(&rb_watchpoints_next);
    if (open && left > 0 && due == UINT64_MAX)
        rb_store_relaxed(&rb_watchpoints_next, rb_arch_ticks());
    else if (!open && due != UINT64_MAX)
        rb_store_relaxed(&rb_watchpoints_next, UINT64_MAX);
}

uint64_t rb_watchpoints_spent(void)
{
    return rb_load_relaxed(&spent);
}
