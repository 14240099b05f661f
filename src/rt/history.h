// The access history of the running program: a bounded table of cells by address, without a fixed shadow
// range.
//
// Memory is cut into granules of 8 bytes. An access touches some bytes of one granule or several; for each
// granule and each set of bytes (mask) that was used on it there is one cell, and atomic accesses have cells
// of their own. An access is checked against all cells of its granule whose bytes overlap its own, and put
// into the cell of exactly its own bytes. That is exact: what a cell forgets is dominated by an access to the
// same bytes (engine/access_history.h), and an atomic access conflicts with plain ones only.
//
// The cells of 32 bytes of memory share a bucket, and a bucket is 8 cache lines with a lock. A full bucket
// gives up the entry that was not used for longest, and counts it: a race may be missed, none invented.
// `pages` counts the entries of each page (hashed), so that forgetting a range (malloc, mmap, a new stack)
// looks at a page's buckets only if there is something. Invariant: pages[hash(page)] = entries with a key
// there.
#ifndef RB_RT_HISTORY_H
#define RB_RT_HISTORY_H

#include "rt/rt.h"

// All of it is forgotten, by a new generation. Generations are even; an odd one is a time in which nothing is
// remembered or compared, because order is being thrown away (objects.c).
RB_INLINE void rb_history_forget_all(void)
{
    __atomic_fetch_add(&rb_process.generation, 2, __ATOMIC_ACQ_REL);
}

RB_INLINE bool rb_is_remembered(uint32_t generation)
{
    return (generation & 1) == 0;
}

// What an entry says beside its epoch: which stack, which thread, how many bytes.
RB_INLINE uint64_t rb_where(rb_stack stack, uint32_t id, size_t size)
{
    return (uint64_t)stack << 32 | (uint64_t)(id & RB_NO_THREAD) << 8 | (size < 255 ? size : 255);
}

RB_INLINE rb_stack rb_where_stack(uint64_t where)
{
    return (rb_stack)(where >> 32);
}

RB_INLINE uint32_t rb_where_thread(uint64_t where)
{
    return (uint32_t)(where >> 8) & RB_NO_THREAD;
}

RB_INLINE uint32_t rb_where_size(uint64_t where)
{
    return (uint32_t)where & 255; // 255: that or more
}

struct rb_touch {
    uintptr_t address;
    size_t size;
    bool write, atomic;
    bool record; // false: PACER's check
};

// The earlier side of a race, as found.
struct rb_hit {
    uintptr_t address; // of the granule's first overlapping byte
    rb_epoch epoch;    // 0: no race
    uint64_t where;
    bool atomic;
};

RB_HIDDEN int rb_history_init(size_t bytes);
RB_HIDDEN void rb_history_reset_after_fork(void);

// Is the access already in its cell, under this very epoch, with nothing else there to be checked? Then it
// has nothing to tell or to learn, and no stack is needed for it. For accesses inside one granule.
RB_HIDDEN bool rb_history_knows(struct rb_self *me, const struct rb_touch *t);
// Checks and records; the first race found is in *hit. `where` is called for only once a touch.
RB_HIDDEN void rb_history_touch(struct rb_self *me, const struct rb_touch *t, uint64_t where,
                                struct rb_hit *hit);
// Compares a plain access with what is there, and records nothing; empty pages cost a look each.
RB_HIDDEN void rb_history_check(struct rb_self *me, const struct rb_touch *t, struct rb_hit *hit);
// Forgets [from, from + bytes).
RB_HIDDEN void rb_history_forget(struct rb_self *me, uintptr_t from, size_t bytes);
// Forgets the accesses without a word in the recording: they may be all there is to forget.
RB_HIDDEN void rb_history_drop(struct rb_self *me, uintptr_t from, size_t bytes);
// What is known of [from, from + bytes) is from now on known of [to, to + bytes). They may overlap; all are
// multiples of 8. No other thread uses either meanwhile.
RB_HIDDEN void rb_history_move(struct rb_self *me, uintptr_t from, uintptr_t to, size_t bytes);

#endif
