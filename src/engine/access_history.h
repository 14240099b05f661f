// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The access history of one memory location.
//
// Exact engines (djit, st, su, so) keep the accesses that are not dominated. A later access f dominates an
// earlier e when e is ordered before f and f conflicts with everything e conflicts with: f is a write, or
// both are reads. Then any g that races with e races with f too. (If f were ordered before g, so would e
// be; and a g of f's own thread is ordered after both.) So dropping e loses no warning: the set of events
// that are the second of some race stays exact.
//
// Without races and concurrent reads the history is one write and one read, held inline. Else it is a list
// of at most one read and one write a thread, oldest first.
//
//   write        rb_epoch of the only write, or RB_EPOCH_MANY
//   write_where  its place, or the list
//   read, read_where  the only read; it came after the write (a write clears the reads before it or makes
//                a list). 0 while there is a list.
// FastTrack uses the same cell by its own rules (fasttrack.c).
#ifndef RB_ENGINE_ACCESS_HISTORY_H
#define RB_ENGINE_ACCESS_HISTORY_H

#include "engine/engine.h"

struct rb_cell {
    rb_epoch write;
    uint64_t write_where;
    rb_epoch read;
    uint64_t read_where;
};
_Static_assert(sizeof(struct rb_cell) == 32, "two cells a cache line");

struct rb_entry {
    rb_epoch epoch;
    uint64_t where;
};

RB_INLINE bool rb_ordered(const struct rb_thread *t, rb_epoch e)
{
    const uint32_t slot = rb_epoch_slot(e);

    if (slot == t->slot)
        return true;
    return slot < t->clock_size && rb_epoch_time(e) <= t->clock[slot];
}

RB_INLINE rb_epoch rb_own_epoch(const struct rb_thread *t, bool write)
{
    return rb_epoch_make(t->slot, t->epoch, write);
}

// Checks and records an access, for the exact engines. `record` false is PACER's check outside its periods:
// compares, forgets the accesses that this one dominates, and records nothing.
void rb_history_access(struct rb_engine *, struct rb_thread *, struct rb_cell *, struct rb_access,
                       bool record, struct rb_partner *);

// Checks alone.
void rb_history_peek(const struct rb_engine *, const struct rb_thread *, const struct rb_cell *,
                     struct rb_access, struct rb_partner *);

// Forgets everything about the cell.
void rb_history_clear(struct rb_engine *, struct rb_cell *);

#endif
