// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The lock discipline of a trace, checked event by event: the holders of mutexes and read-write locks. One
// instance serves import, `trace check` and the replay, so that they agree on well-formed traces.
#ifndef RB_TRACE_LOCK_CHECK_H
#define RB_TRACE_LOCK_CHECK_H

#include "trace/format.h"

// State of one lock. Zero is "free".
struct rb_lock_state {
    uint32_t owner; // thread + 1 that holds it to write; 0: none
    uint32_t depth; // of re-entrant write acquires
};

enum rb_lock_verdict {
    RB_LOCK_OUTER,     // the lock changes hands
    RB_LOCK_INNER,     // re-entrant, or a kind without discipline
    RB_LOCK_NOT_HELD,  // release of a free lock
    RB_LOCK_HELD_ELSE, // release of a lock that another thread holds
    RB_LOCK_OVERLAP    // acquire of a lock that another thread holds
};

// The mistake of a thread, for messages. NULL for correct verdicts.
extern const char *const rb_lock_misuse[];

// Applies an ACQUIRE or RELEASE. A verdict of misuse leaves the state as a lenient reader wants it: an
// unmatched release changes nothing, an overlapping acquire takes the lock over.
static inline enum rb_lock_verdict rb_lock_apply(struct rb_lock_state *s, enum rb_op op, uint32_t thread)
{
    if (op == RB_ACQUIRE) {
        if (s->owner == 0) {
            s->owner = thread + 1;
            s->depth = 1;
            return RB_LOCK_OUTER;
        }
        if (s->owner == thread + 1) {
            s->depth++;
            return RB_LOCK_INNER;
        }
        s->owner = thread + 1;
        s->depth = 1;
        return RB_LOCK_OVERLAP;
    }
    if (s->owner != thread + 1)
        return s->owner == 0 ? RB_LOCK_NOT_HELD : RB_LOCK_HELD_ELSE;
    if (--s->depth > 0)
        return RB_LOCK_INNER;
    s->owner = 0;
    return RB_LOCK_OUTER;
}

// The same for lock numbers that are not dense, and for read-locks: each (lock, thread) that ever
// read-locked has its depth. Zero is an empty table. Memory grows with the distinct locks and (lock,
// reader) pairs. When it runs out, `out_of_memory` is set and verdicts are RB_LOCK_INNER from then on.
struct rb_lock_slot {
    uint64_t lock;
    uint32_t reader;            // thread + 1; 0: the entry of the writer
    struct rb_lock_state state; // of a reader: depth only
    bool taken;
};

struct rb_lock_table {
    struct rb_lock_slot *slots;
    uint64_t capacity, count; // capacity is a power of two or 0
    bool out_of_memory;
};

// Applies an ACQUIRE, RELEASE, RD_ACQ or RD_REL. Readers and writers are not checked against each other; a
// read-release without a read-acquire by the same thread is RB_LOCK_NOT_HELD.
enum rb_lock_verdict rb_lock_table_apply(struct rb_lock_table *t, enum rb_op op, uint32_t thread,
                                         uint64_t lock);
void rb_lock_table_free(struct rb_lock_table *t);

#endif
