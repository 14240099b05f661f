// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The runtime's lock: one word, held for tens of instructions, never across a call into the program or the
// kernel. The holder is inside the runtime's guard (rt.h), so no signal handler runs on top of a holder,
// and a thread never waits for itself. A waiter yields when the holder seems to have lost its core.
#ifndef RB_INPROC_SPIN_H
#define RB_INPROC_SPIN_H

#include "base/types.h"

typedef uint32_t rb_spin; // 0 free, 1 held

void rb_spin_wait(rb_spin *lock); // returns when it looks free
// Returns true in a process that is a copy of ours: the threads that held its locks are not in it. NULL: no
// such check.
extern bool (*rb_spin_is_copy)(void);
extern bool rb_spin_never_yields; // the kernel must not be called (sandbox.h)

RB_INLINE bool rb_spin_try(rb_spin *lock)
{
    return rb_exchange_acquire(lock, 1) == 0;
}

RB_INLINE void rb_spin_lock(rb_spin *lock)
{
    while (RB_UNLIKELY(!rb_spin_try(lock)))
        rb_spin_wait(lock);
}

RB_INLINE void rb_spin_unlock(rb_spin *lock)
{
    rb_store_release(lock, 0);
}

#endif
