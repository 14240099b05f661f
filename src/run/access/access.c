// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A sampled access: looked up in the history, put into it with its stack, and reported if it races.
#include "run/access/access.h"

#include "run/access/address_filter.h"
#include "run/access/history.h"
#include "run/core/arch.h"
#include "run/core/upcalls.h"
#include "run/record/record.h"
#include "run/sites/sites.h"

#define FREED_KEPT 1024u
#define AROUND     32768u // bytes on either side of a piece that are checked against the history

// Records the access behind the order that unseen libraries made before it.
static RB_NOINLINE void record_access(struct rb_self *me, const struct rb_memory_access *t, uintptr_t pc)
{
    if (me->unseen.pending)
        rb_unseen_settle(me);
    if (rb_unseen_marks)
        rb_unseen_pass_stack(me, rb_stack_here(&me->walk, pc, rb_process.stack_depth));
    rb_record_access(me, t, pc);
}

// Puts the access into the history, unless it is there already. `frame`: its frame, if it is not the
// caller's at pc.
RB_INLINE void put_access(struct rb_self *me, const struct rb_memory_access *t, uintptr_t pc,
                          const struct rb_unwind_frame *frame)
{
    struct rb_hit hit;

    if (RB_UNLIKELY(rb_recording))
        record_access(me, t, pc);
    if (rb_is_in_line(t) && !rb_accesses_is_stale(me, t) && rb_accesses_knows(me, t))
        return;
    const rb_stack stack = frame ? rb_stack_from(&me->walk, frame, rb_process.stack_depth)
                                 : rb_stack_here(&me->walk, pc, rb_process.stack_depth);
    const uint64_t where = rb_where(stack, me->id, t->size);
    rb_unseen_pass_stack(me, stack);
    rb_accesses_touch(me, t, where, &hit);
    if (RB_UNLIKELY(hit.epoch))
        rb_race_found(me, t, where, &hit);
}

static void take_access(struct rb_self *me, const struct rb_memory_access *t, uintptr_t pc)
{
    me->count.sampled++;
    if (RB_UNLIKELY(rb_watchpoints_due()))
        rb_watchpoints_arm(me, t, pc);
    put_access(me, t, pc, NULL);
}

// Checks the access against the history and records nothing: a stack is needed only for a race.
static void check_access(struct rb_self *me, const struct rb_memory_access *t, uintptr_t pc)
{
    struct rb_hit hit;

    rb_accesses_touch(me, t, 0, &hit);
    if (RB_LIKELY(!hit.epoch))
        return;
    const rb_stack stack = rb_stack_here(&me->walk, pc, rb_process.stack_depth);
    if (RB_UNLIKELY(rb_unseen_marks)) {
        rb_unseen_pass_stack(me, stack);
        rb_accesses_touch(me, t, 0, &hit);
    }
    if (RB_LIKELY(hit.epoch))
        rb_race_found(me, t, rb_where(stack, me->id, t->size), &hit);
}

// Returns a piece of a range that is too long: S is the set of bytes looked at. Each byte is in it with the
// same probability, the first and the last too, so the piece may be shorter.
static struct rb_memory_access piece_of(struct rb_self *me, const struct rb_memory_access *t)
{
    const size_t most = rb_sampling_piece();
    struct rb_memory_access piece = *t;

    if (t->size <= most)
        return piece;
    const size_t end = rb_rng_below(&me->rng, t->size + most - 1) + 1, from = end > most ? end - most : 0;
    piece.address += from;
    piece.size = (end < t->size ? end : t->size) - from;
    return piece;
}

static void check_both(struct rb_self *me, const struct rb_memory_access *before,
                       const struct rb_memory_access *behind, struct rb_hit *hit)
{
    rb_accesses_check(me, before, hit);
    if (!hit->epoch)
        rb_accesses_check(me, behind, hit);
}

// Checks the bytes around the piece. That costs little where nothing is recorded.
static void check_around(struct rb_self *me, const struct rb_memory_access *t,
                         const struct rb_memory_access *piece, uintptr_t pc)
{
    struct rb_memory_access before = *t, behind = *t;
    struct rb_hit hit;

    before.size = piece->address - t->address;
    if (before.size > AROUND) {
        before.address = piece->address - AROUND;
        before.size = AROUND;
    }
    behind.address = piece->address + piece->size;
    behind.size = t->address + t->size - behind.address;
    if (behind.size > AROUND)
        behind.size = AROUND;
    check_both(me, &before, &behind, &hit);
    if (RB_LIKELY(!hit.epoch))
        return;
    const rb_stack stack = rb_stack_here(&me->walk, pc, rb_process.stack_depth);
    if (RB_UNLIKELY(rb_unseen_marks)) {
        rb_unseen_pass_stack(me, stack);
        check_both(me, &before, &behind, &hit);
    }
    if (RB_LIKELY(hit.epoch))
        rb_race_found(me, t, rb_where(stack, me->id, t->size), &hit);
}

static void look_at_access(struct rb_self *me, uintptr_t address, size_t size, unsigned how, uintptr_t pc)
{
    struct rb_memory_access t = {address, size, (how & RB_HOW_WRITE) != 0, (how & RB_HOW_ATOMIC) != 0, true};
    const enum rb_take answer = rb_sampling_next(me, pc);
    if (answer == RB_PASS || (t.write ? me->ignore_writes : me->ignore_reads))
        return;
    t.record = answer == RB_TAKE;
    const struct rb_memory_access piece = size > RB_PIECE ? piece_of(me, &t) : t;
    if (t.record)
        take_access(me, &piece, pc);
    else
        check_access(me, &piece, pc);
    if (RB_UNLIKELY(piece.size < size) && !rb_recording)
        check_around(me, &t, &piece, pc);
}

void rb_access_inside(struct rb_self *me, uintptr_t address, size_t size, unsigned how, uintptr_t pc)
{
    if (size == 0 || address + size < address)
        return;
    if (rb_skip >= 0 && --rb_skip >= 0) // set only now, by the thread's first step into the runtime
        return;
    const uint64_t start = rb_process.by_cost ? rb_arch_ticks() : 0;
    look_at_access(me, address, size, how, pc);
    if (start)
        rb_sampling_cost(me, rb_arch_ticks() - start);
}

void rb_access_trapped(struct rb_self *me, const struct rb_memory_access *t,
                       const struct rb_unwind_frame *frame)
{
    if (t->write ? me->ignore_writes : me->ignore_reads)
        return;
    put_access(me, t, frame->pc, frame);
}

static void look_at_freed(struct rb_self *me, uintptr_t address, size_t size, uintptr_t pc)
{
    struct rb_memory_access t = {address, size < FREED_KEPT ? size : FREED_KEPT, true, false, true};
    struct rb_hit hit;

    const enum rb_take answer = rb_sampling_next(me, pc);
    if (answer == RB_PASS || me->ignore_writes)
        return;
    t.record = answer == RB_TAKE;
    const rb_stack stack = rb_stack_here(&me->walk, pc, rb_process.stack_depth);
    const uint64_t where = rb_where(stack, me->id, size);
    me->count.sampled += t.record;
    rb_unseen_pass_stack(me, stack);
    rb_accesses_touch(me, &t, where, &hit);
    const struct rb_memory_access rest = {address + t.size, size - t.size, true, false, false};
    if (!hit.epoch && rest.size)
        rb_accesses_check(me, &rest, &hit);
    t.size = size;
    if (RB_UNLIKELY(rb_recording) && t.record)
        rb_record_access(me, &t, pc);
    if (RB_UNLIKELY(hit.epoch))
        rb_race_found(me, &t, where, &hit);
}

void rb_access_freed(struct rb_self *me, uintptr_t address, size_t size, uintptr_t pc)
{
    if (size == 0 || address + size < address || (rb_skip >= 0 && --rb_skip >= 0))
        return;
    const uint64_t start = rb_process.by_cost ? rb_arch_ticks() : 0;
    look_at_freed(me, address, size, pc);
    if (start)
        rb_sampling_cost(me, rb_arch_ticks() - start);
}

// Returns true for an access that the thread remembers, as most are with sampler=all. The count in rb_skip
// is read later (sampling.c).
RB_INLINE bool is_recalled(uintptr_t address, size_t size, unsigned how)
{
    const struct rb_memory_access t = {address, size, (how & RB_HOW_WRITE) != 0, (how & RB_HOW_ATOMIC) != 0,
                                       true};
    struct rb_self *me = rb_self_tls;

    if (RB_UNLIKELY(!me || me->busy || !me->recent))
        return false;
    me->busy = 1; // a handler here would change the thread's memory of its accesses
    __asm__ volatile("" ::: "memory");
    const bool recalled = rb_accesses_recalls(me, &t) && !rb_recording && !rb_watchpoints_due();
    me->count.sampled += recalled;
    rb_leave(me);
    return recalled;
}

void rb_access_slow(uintptr_t address, size_t size, unsigned how, uintptr_t pc)
{
    if (RB_UNLIKELY(rb_process.take_all)) {
        if (is_recalled(address, size, how))
            return;
        rb_accesses_prefetch(address);
    }
    struct rb_self *me = rb_is_queued(pc) || rb_filter_passes(address, size, pc) ? NULL : rb_enter();

    if (!me)
        return;
    if (RB_UNLIKELY(rb_process.collides)) {
        rb_collide_access(me, address, size, how, pc);
        return;
    }
    rb_access_inside(me, address, size, how, pc);
    rb_races_report(me);
    rb_leave(me);
}
