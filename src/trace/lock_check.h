// The lock discipline of a trace, checked as events stream by: who holds which mutex or read-write lock.
// One instance serves import, `trace check` and the replay, so that they agree on what is well-formed.
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

#endif
