// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The access history of the running program: a bounded table of accesses by address, without a fixed shadow
// range.
//
// An entry is an access that was made: its epoch, its stack, and which bytes of one line (32 bytes) of
// memory it was to. Accesses to one line with the same epoch, the same stack and of the same kind are one
// entry. So the size depends on the places and times of accesses and not on their bytes. An access is
// checked against each entry that shares bytes with it, takes those bytes from the entries that it
// dominates, and becomes an entry or part of one. docs/explanation/runtime.md, section 6, explains why that is exact.
//
// The entries of some lines share a bucket of 8 cache lines, with a lock. A full bucket gives up its oldest
// entry, and counts it: a race may be missed, none invented. `pages` counts the entries of each page
// (hashed): a range that is forgotten (malloc, mmap, a new stack) visits only buckets with entries.
// Invariant: pages[hash(page)] = entries there.
#ifndef RB_RUN_ACCESS_HISTORY_H
#define RB_RUN_ACCESS_HISTORY_H

#include "run/core/race_event.h"

// Forgets everything, by a new generation. Generations are even. While an odd one lasts nothing is
// remembered or compared, because order is being thrown away (objects.c).
RB_INLINE void rb_accesses_forget_all(void)
{
    rb_fetch_add_acq_rel(&rb_process.generation, 2);
}

RB_INLINE bool rb_is_remembered(uint32_t generation)
{
    return (generation & 1) == 0;
}

RB_HIDDEN int rb_accesses_init(size_t bytes);
RB_HIDDEN bool rb_accesses_has_dropped(void); // for lack of room, since the start or the fork
RB_HIDDEN void rb_accesses_reset_after_fork(void);

#define RB_LINE_SHIFT 5 // logarithm of a line's bytes

// ---- a thread's memory of its last accesses (rt.h) -----------------------------------------------------
// An access that the thread has made under its current epoch, and that has raced with none since, has no
// effect. If its line is among those that the thread remembers, it costs a few comparisons and no lock. A
// thread that records a racing access to the line, or takes an access away from it, changes the line's
// stamp; so does a new generation.

#define RB_DISTURBED 256u
extern RB_HIDDEN uint32_t rb_accesses_disturbed[RB_DISTURBED]; // times, by line

RB_INLINE uint32_t rb_line_hash(uintptr_t address)
{
    return (uint32_t)(address >> RB_LINE_SHIFT) & (RB_DISTURBED - 1);
}

RB_INLINE bool rb_is_in_line(const struct rb_memory_access *t)
{
    return (t->address & ((1u << RB_LINE_SHIFT) - 1)) + t->size <= 1u << RB_LINE_SHIFT;
}

RB_INLINE struct rb_recent *rb_recent_of(struct rb_self *me, uintptr_t address)
{
    return &me->recent[address >> RB_LINE_SHIFT & (RB_RECENT - 1)];
}

// Returns the line's address, and in one of its bits whether the access is atomic.
RB_INLINE uintptr_t rb_recent_name(const struct rb_memory_access *t)
{
    return (t->address | ((1u << RB_LINE_SHIFT) - 1)) - t->atomic;
}

// Returns a stamp of the line and the generation. Both terms only grow, so the sum is unchanged only if
// both are.
RB_INLINE uint32_t rb_recent_stamp(uintptr_t address, uint32_t generation)
{
    return generation + rb_load_relaxed(&rb_accesses_disturbed[rb_line_hash(address)]);
}

RB_INLINE bool rb_accesses_recalls(struct rb_self *me, const struct rb_memory_access *t)
{
    const struct rb_recent *r = rb_recent_of(me, t->address);
    const unsigned first = t->address & ((1u << RB_LINE_SHIFT) - 1);
    const uint64_t mask = (((uint64_t)1 << (t->size & 63)) - 1) << first;

    return t->size <= 1u << RB_LINE_SHIFT && r->name == rb_recent_name(t) && r->epoch == me->hb.epoch &&
           r->stamp == rb_recent_stamp(t->address, rb_load_acquire(&rb_process.generation)) &&
           (mask & ~(uint64_t)(t->write ? r->written : r->known)) == 0;
}

// Returns true if the last access to the line that the thread remembers was under an older epoch. Then the
// table has none under the current epoch, and need not be searched.
RB_INLINE bool rb_accesses_is_stale(struct rb_self *me, const struct rb_memory_access *t)
{
    const struct rb_recent *r = me->recent ? rb_recent_of(me, t->address) : NULL;

    return r && r->name == rb_recent_name(t) && r->epoch != me->hb.epoch;
}

// Prefetches the parts of the table that an access at the address will need.
RB_HIDDEN void rb_accesses_prefetch(uintptr_t address);
// Returns true if the access is one of those, according to its line's entries. For accesses inside one
// line.
RB_HIDDEN bool rb_accesses_knows(struct rb_self *me, const struct rb_memory_access *t);
// Checks and records; the first race found is in *hit.
RB_HIDDEN void rb_accesses_touch(struct rb_self *me, const struct rb_memory_access *t, uint64_t where,
                                 struct rb_hit *hit);
// Compares a plain access with the history, and records nothing; empty pages cost one test each.
RB_HIDDEN void rb_accesses_check(struct rb_self *me, const struct rb_memory_access *t, struct rb_hit *hit);
// Forgets [from, from + bytes).
RB_HIDDEN void rb_accesses_forget(struct rb_self *me, uintptr_t from, size_t bytes);
// Forgets the accesses, and writes nothing into the recording: they may be all there is to forget.
RB_HIDDEN void rb_accesses_drop(struct rb_self *me, uintptr_t from, size_t bytes);
// Moves the entries of [from, from + bytes) to [to, to + bytes). The ranges may overlap; all are multiples
// of 8. No other thread uses either meanwhile.
RB_HIDDEN void rb_accesses_move(struct rb_self *me, uintptr_t from, uintptr_t to, size_t bytes);

#endif
