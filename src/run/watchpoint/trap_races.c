// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sampler=crsampler:P and sampler=datacollider:P: races that are seen by data breakpoints, without clocks
// and without history (docs/explanation/samplers.md, "Clock races"). Hooks of synchronisation are paused
// (docs/explanation/runtime.md, section 3) and count, nothing more.
//
// A sampled access e1 gets a breakpoint on its bytes. Another thread's access e2 of them traps. With
// crsampler it is a race if the thread of e1 has made no synchronisation operation since (rb_self.steps).
// With datacollider the thread of e1 waits before it meanwhile, and it is a race if it is still there.
//
// Sites     P of the code locations are chosen (sampling_static.c); e1 is an access of one of them. A
//           chosen one sleeps after BURST calls until the ticker's next turn, the others for good. e2 may
//           be anywhere: the trap says which access it was (trap_decode.c).
// Slots     One for each breakpoint. `armed` numbers its uses, 0 is none. A use is ended by setting it to
//           0, which only one can do: the trap that reports it, the thread that has waited, memory that
//           starts anew, or a thread's end. A trap copies the slot between two reads of `armed`.
// Proof     docs/explanation/samplers.md. It needs three facts: `steps` of a thread grows before any release of it can
//           be seen; e1's slot is written by its own thread, in the hook right before e1; e2's trap comes
//           after e2 on its thread, before anything else runs there.
// Cost      A turn sets as many breakpoints as there are, and some for each place that had few; a place
//           that had many gets one of up to 2^8 that it might have. A thread that was delayed goes on for
//           at least as long.
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "inproc/clocks.h"
#include "run/access/access.h"
#include "run/access/history.h"
#include "run/core/arch.h"
#include "run/core/ticker.h"
#include "run/core/upcalls.h"
#include "run/record/record.h"
#include "run/sampler/sampling.h"
#include "run/sites/sites.h"
#include "run/watchpoint/arch_access.h"
#include "run/watchpoint/watchpoints.h"

#define FIRST       8u        // breakpoints that a place gets whenever one is free
#define LEAST_SHARE 8u        // after that one of up to 2^8
#define BURST       64u       // calls of a place in a turn
#define TURN        10000000u // nanoseconds
#define OWN_HITS    4u        // by the thread of e1 itself, before a breakpoint is given up
#define OTHER_HITS  4u        // by others, that are not judged

struct slot {
    uint32_t armed; // number of this use; 0: none
    struct rb_self *owner;
    uint64_t steps;      // of the owner, at e1
    uint32_t generation; // of the history: accesses from before a lost edge do not count
    struct rb_memory_access touch;
    uint64_t where;
    uint64_t until; // nanoseconds of the monotonic clock
    uint8_t own_hits, other_hits;
};

// Written under `lock`, which is only tried except at the end of threads; traps write `armed` and the hits.
static struct slot slots[RB_BREAKPOINTS];
static rb_spin lock;
static uint32_t uses;
static uint32_t left; // breakpoints that may be set in this turn, beside the first ones
static uint32_t lonely_turns;
static bool delays;                   // datacollider
static uint64_t limit;                // nanoseconds
static RB_TLS uint64_t delayed_until; // nanoseconds; 0: the thread is not delayed

// ---- slots ---------------------------------------------------------------------------------------------

static uint32_t number_of(const struct slot *s)
{
    return rb_load_acquire(&s->armed);
}

// Ends the use. Returns false if it has ended already.
static bool end_use(unsigned i, uint32_t armed)
{
    return armed && rb_cas_strong_acq_rel(&slots[i].armed, &armed, 0);
}

// Copies the use. Returns its number, or 0 if there is none or it is being changed.
static uint32_t copy_slot(const struct slot *s, struct slot *seen)
{
    const uint32_t armed = number_of(s);

    *seen = *(const volatile struct slot *)s;
    rb_fence_acquire();
    return number_of(s) == armed ? armed : 0;
}

static bool has_synchronised(const struct slot *s)
{
    return rb_load_acquire(&s->owner->steps) != s->steps;
}

static bool is_free(unsigned i, uint64_t now)
{
    const struct slot *s = &slots[i];

    return !number_of(s) || !rb_breakpoint_is_set(i) || now >= s->until || (!delays && has_synchronised(s)) ||
           s->generation != rb_load_relaxed(&rb_process.generation);
}

void rb_collide_forget_slow(uintptr_t from, size_t bytes)
{
    struct slot seen;

    for (unsigned i = 0; i < rb_breakpoints.count; i++) {
        const uint32_t armed = copy_slot(&slots[i], &seen);
        if (armed && seen.touch.address < from + bytes && from < seen.touch.address + seen.touch.size)
            end_use(i, armed);
    }
}

// ---- e1 ------------------------------------------------------------------------------------------------

static bool is_due(struct rb_self *me, struct rb_site *site)
{
    if (delays)
        return rb_arch_ticks() >= me->sampling.delay_next;
    return site->taken < FIRST || rb_load_relaxed(&left) != 0;
}

static bool is_wanted(struct rb_self *me, struct rb_site *site, const struct rb_memory_access *t)
{
    const uint32_t share = site->taken / FIRST < LEAST_SHARE ? site->taken / FIRST : LEAST_SHARE;

    return rb_site_can_sleep(site) && !t->atomic && !(t->write ? me->ignore_writes : me->ignore_reads) &&
           rb_load_relaxed(&rb_sampling_process.alive) > 1 && is_due(me, site) &&
           rb_rng_below(&me->rng, (uint64_t)1 << share) == 0 && !rb_trapped_is_own(me, t->address);
}

static void write_slot(struct rb_self *me, struct slot *s, const struct rb_memory_access *t, uintptr_t pc,
                       uint64_t now)
{
    rb_store_relaxed(&s->armed, 0);
    rb_fence_seq_cst();
    s->owner = me;
    s->steps = rb_load_relaxed(&me->steps);
    s->generation = rb_load_acquire(&rb_process.generation);
    s->touch = *t;
    s->where = rb_where(rb_stack_here(&me->walk, pc, rb_process.stack_depth), me->id, t->size);
    s->until = now + limit;
    s->own_hits = s->other_hits = 0;
    uses += uses == UINT32_MAX ? 2 : 1;
    rb_store_release(&s->armed, uses);
}

static bool is_covered(const struct rb_memory_access *t, uint64_t now)
{
    for (unsigned i = 0; i < rb_breakpoints.count; i++)
        if (!is_free(i, now) && slots[i].touch.address - t->address < t->size)
            return true;
    return false;
}

// Sets a breakpoint for e1. Returns its number, or RB_BREAKPOINT_NONE.
static unsigned set_breakpoint(struct rb_self *me, struct rb_site *site, const struct rb_memory_access *t,
                               uintptr_t pc)
{
    const int saved = errno;
    unsigned i = 0, got = RB_BREAKPOINT_NONE;

    if (!rb_spin_try(&lock))
        return got;
    const uint64_t now = rb_clock_ns(CLOCK_MONOTONIC);
    while (i < rb_breakpoints.count && !is_free(i, now))
        i++;
    if (i < rb_breakpoints.count && !is_covered(t, now) && rb_breakpoints_are_ours()) {
        rb_site_count(site);
        me->count.sampled++;
        me->count.watch_armed++;
        write_slot(me, &slots[i], t, pc, now);
        if (rb_records())
            rb_record_access(me, t, pc);
        if (rb_breakpoint_set(i, t->address, rb_breakpoint_piece(t->address, t->size), !t->write))
            got = i;
        else
            rb_watchpoints_stop("the program has closed their descriptors");
        if (left)
            rb_store_relaxed(&left, left - 1);
    }
    rb_spin_unlock(&lock);
    errno = saved;
    return got;
}

// Reads the value. The bytes that a hook announces need not exist. Returns false if they cannot be read.
static bool read_value(const struct rb_memory_access *t, uint64_t *value)
{
    return rb_breakpoint_value(t->address, t->size, value) == 0;
}

// Waits until the use has ended, or the time is up. Outside the guard: the program's handlers run
// meanwhile.
static void await_end(const uint32_t *armed, uint32_t number, uint64_t until)
{
    const struct timespec end = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};

    while (rb_load_acquire(armed) == number && rb_clock_ns(CLOCK_MONOTONIC) < until)
        syscall(SYS_futex, armed, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, number, &end, NULL,
                FUTEX_BITSET_MATCH_ANY);
}

// Delays the thread before e1 until another thread's access traps, or the limit is over. Leaves the guard.
static void delay_access(struct rb_self *me, unsigned i, const struct rb_memory_access *t)
{
    const int saved = errno;
    const uint32_t number = number_of(&slots[i]);
    const uint64_t start = rb_arch_ticks(), until = slots[i].until;
    uint64_t before, after;

    const bool known = read_value(t, &before);
    delayed_until = until;
    me->count.delays++;
    rb_leave(me);
    await_end(&slots[i].armed, number, until);
    delayed_until = 0;
    if ((me = rb_enter()) != NULL) {
        if (end_use(i, number)) {
            rb_breakpoint_clear(i);
            me->count.changed_unseen += known && read_value(t, &after) && after != before;
        }
        const uint64_t now = rb_arch_ticks();
        me->sampling.delay_next = now + (now - start);
        rb_leave(me);
    }
    errno = saved;
}

// Returns true if the thread is delayed: then a handler runs, which is not delayed in its turn. A handler
// may also have jumped out of the delay.
static bool is_delayed(void)
{
    return RB_UNLIKELY(delayed_until) && rb_clock_ns(CLOCK_MONOTONIC) < delayed_until;
}

// Counts a call of the place, also when no breakpoint is set: the place costs no more than a burst until
// the next turn.
static void count_call(struct rb_self *me, struct rb_site *site)
{
    if (!site->begun) {
        site->begun = true;
        site->left = BURST;
    }
    if (site->left)
        site->left--;
    else
        rb_site_sleep(me, site);
}

static unsigned offer_access(struct rb_self *me, struct rb_site *site, const struct rb_memory_access *t,
                             uintptr_t pc)
{
    count_call(me, site);
    return !is_delayed() && is_wanted(me, site, t) ? set_breakpoint(me, site, t, pc) : RB_BREAKPOINT_NONE;
}

void rb_collide_access(struct rb_self *me, uintptr_t address, size_t size, unsigned how, uintptr_t pc)
{
    const struct rb_memory_access t = {address, size, (how & RB_HOW_WRITE) != 0, (how & RB_HOW_ATOMIC) != 0,
                                       true};
    unsigned got = RB_BREAKPOINT_NONE;

    if (size && address + size > address && !t.atomic) {
        struct rb_site *site = rb_site_at(me, pc);
        if (rb_watchpoints_missing() || !rb_static_chosen(pc))
            rb_site_sleep(me, site);
        else if (site && rb_watchpoints_on())
            got = offer_access(me, site, &t, pc);
    }
    if (got != RB_BREAKPOINT_NONE && delays)
        delay_access(me, got, &t);
    else
        rb_leave(me);
}

// ---- e2 ------------------------------------------------------------------------------------------------

static void report_race(struct rb_self *me, const struct slot *e1, const struct rb_trapped *e2,
                        const ucontext_t *context)
{
    const struct rb_unwind_frame frame = rb_arch_frame(context, e2->site);
    const uint64_t where =
        rb_where(rb_stack_from(&me->walk, &frame, rb_process.stack_depth), me->id, e2->touch.size);
    const struct rb_hit before = {e1->touch.address, rb_epoch_make(e1->owner->hb.slot, 1, e1->touch.write),
                                  e1->where, false};

    if (rb_records())
        rb_record_access(me, &e2->touch, e2->site);
    rb_race_found(me, &e2->touch, where, &before);
    rb_races_report(me);
}

// Returns true if e1, unchanged, races with e2. Counts the reason otherwise.
static bool is_race(struct rb_self *me, const struct slot *e1, const struct rb_memory_access *e2)
{
    if (!(e1->touch.write || e2->write) || (e2->write ? me->ignore_writes : me->ignore_reads)) {
        me->count.watch_dropped++;
        return false;
    }
    if (e1->generation != rb_load_acquire(&rb_process.generation) || !rb_is_remembered(e1->generation) ||
        rb_clock_ns(CLOCK_MONOTONIC) >= e1->until) {
        me->count.watch_expired++;
        return false;
    }
    if (has_synchronised(e1)) {
        me->count.watch_ordered += !delays;
        me->count.collisions_not_clock += delays;
        return false;
    }
    return true;
}

// Passes over a trap that is not judged, and gives the breakpoint up after `most` of them.
static void pass_trap(unsigned i, uint32_t armed, uint8_t *hits, unsigned most)
{
    if (!armed || rb_add_fetch_relaxed(hits, 1) >= most) {
        end_use(i, armed);
        rb_breakpoint_clear(i);
    }
}

void rb_collide_trap(const struct rb_breakpoint_hit *hit, const void *context)
{
    const unsigned i = hit->number;
    struct slot *s = &slots[i], e1;
    struct rb_trapped e2;
    struct rb_self *me = rb_self_tls ? rb_enter() : NULL;
    const uint32_t armed = copy_slot(s, &e1);
    const unsigned bytes = armed ? rb_breakpoint_piece(e1.touch.address, e1.touch.size) : 0;

    if (!me) {
        pass_trap(i, armed, &s->other_hits, OTHER_HITS);
        return;
    }
    me->count.watch_trapped++;
    if (!armed || hit->address != e1.touch.address) {
        me->count.watch_expired++;
        pass_trap(i, armed, &s->other_hits, OTHER_HITS);
    } else if (e1.owner == me) {
        me->count.watch_own++;
        pass_trap(i, armed, &s->own_hits, has_synchronised(&e1) ? 0 : OWN_HITS);
    } else if (hit->late || !rb_trapped_find(me, hit->address, bytes, context, &e2)) {
        me->count.watch_dropped++;
        pass_trap(i, armed, &s->other_hits, OTHER_HITS);
    } else if (!is_race(me, &e1, &e2.touch) || !end_use(i, armed)) {
        pass_trap(i, armed, &s->other_hits, 0);
    } else {
        me->count.watch_judged++;
        rb_breakpoint_clear(i);
        if (delays)
            syscall(SYS_futex, &s->armed, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0);
        report_race(me, &e1, &e2, context);
    }
    rb_leave(me);
}

// ---- the policies --------------------------------------------------------------------------------------

static int init_sampler(void)
{
    __builtin_memset(slots, 0, sizeof(slots));
    lock = 0;
    left = 0;
    delayed_until = 0;
    lonely_turns = 0;
    rb_ticker_reset_after_fork();
    delays = rb_sampling_process.spec.ops == &rb_sample_datacollider;
    limit = rb_sampling_process.spec.length * 1000000u;
    rb_race_evidence = delays ? "collision" : "clock";
    rb_process.collides = true;
    rb_process.paused = (uint8_t)(RB_COUNTS | (rb_options.record[0] ? 0 : RB_PAUSED));
    return rb_static_init();
}

static uint64_t begin_thread(struct rb_self *me)
{
    (void)me;
    return 0;
}

// Passes over accesses that come from elsewhere than a hook.
static enum rb_take pass_access(struct rb_self *me, uintptr_t pc, uint64_t passed, uint64_t *gap)
{
    (void)me;
    (void)pc;
    (void)passed;
    *gap = 0;
    return RB_PASS;
}

static bool wake_site(struct rb_site *site)
{
    site->left = BURST;
    return site->begun;
}

// Runs on the ticker's thread, which has no state.
static uint64_t turn_ticker(void)
{
    if (rb_load_relaxed(&rb_sampling_process.alive) > 1)
        lonely_turns = 0;
    else if (++lonely_turns > 2)
        return RB_TICKER_END;
    if (!rb_watchpoints_check())
        return TURN;
    const uint64_t now = rb_clock_ns(CLOCK_MONOTONIC);
    for (unsigned i = 0; i < rb_breakpoints.count && !delays; i++) {
        struct slot seen;
        const uint32_t armed = copy_slot(&slots[i], &seen);
        if (armed && now >= seen.until && end_use(i, armed))
            rb_breakpoint_clear(i);
    }
    rb_sites_flip_all(wake_site, RB_SITE_AWAKE);
    rb_store_relaxed(&left, rb_breakpoints.count);
    return TURN;
}

// Starts the ticker. Without it each place has its first breakpoints, and most are asleep after that.
static void spawn_thread(struct rb_self *me)
{
    (void)me;
    rb_watchpoints_open();
    if (rb_watchpoints_on())
        rb_ticker_start(turn_ticker);
}

// Ends the uses of a thread that ends: its state may become another's.
static void end_thread(struct rb_self *me)
{
    rb_spin_lock(&lock);
    for (unsigned i = 0; i < rb_breakpoints.count; i++) {
        const uint32_t armed = number_of(&slots[i]);
        if (armed && slots[i].owner == me && end_use(i, armed))
            rb_breakpoint_clear(i);
    }
    rb_spin_unlock(&lock);
}

const struct rb_policy rb_policy_crsampler = {.ops = &rb_sample_crsampler,
                                              .init = init_sampler,
                                              .begin = begin_thread,
                                              .end = end_thread,
                                              .next = pass_access,
                                              .spawn = spawn_thread};
const struct rb_policy rb_policy_datacollider = {.ops = &rb_sample_datacollider,
                                                 .init = init_sampler,
                                                 .begin = begin_thread,
                                                 .end = end_thread,
                                                 .next = pass_access,
                                                 .spawn = spawn_thread};
