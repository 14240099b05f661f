// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The meaning of synchronisation, for everything that orders threads: a few verbs on addresses, used by
// interceptors, atomics, annotations and OpenMP alike. All are called inside the guard. The engine does the
// work under the object's lock; an order that cannot be recorded is a lost edge (rt.h).
//
//   lock, unlock            mutexes: acquire main and readers; replace main
//   read_lock, read_unlock  acquire main; join readers
//   acquire, release        acquire main; join main (semaphores, descriptors, annotations, barriers)
//   release_store           replace main (once, guards)
#ifndef RB_RUN_SYNC_SYNC_H
#define RB_RUN_SYNC_SYNC_H

#include "run/access/access.h"
#include "run/core/arch.h"
#include "run/sync/objects.h"

RB_HIDDEN void rb_on_lock(struct rb_self *me, uintptr_t object);
// Handles a lock by pthread's functions: their result says if the last owner died with the lock.
RB_HIDDEN void rb_on_robust_lock(struct rb_self *me, uintptr_t object, int result);
RB_HIDDEN void rb_on_unlock(struct rb_self *me, uintptr_t object);
RB_HIDDEN void rb_on_read_lock(struct rb_self *me, uintptr_t object);
RB_HIDDEN void rb_on_read_unlock(struct rb_self *me, uintptr_t object);
RB_HIDDEN void rb_on_acquire(struct rb_self *me, uintptr_t object);
RB_HIDDEN void rb_on_release(struct rb_self *me, uintptr_t object);
RB_HIDDEN void rb_on_release_store(struct rb_self *me, uintptr_t object);
// Unlocks a lock that may be held to read or to write (pthread_rwlock_unlock).
RB_HIDDEN void rb_on_rw_unlock(struct rb_self *me, uintptr_t object);
RB_HIDDEN void rb_on_destroy(struct rb_self *me, uintptr_t object, size_t bytes);

// Acquires and releases a clock that is in no table, under the lock of its owner; `recorded` names it in a
// trace.
RB_HIDDEN void rb_on_acquire_of(struct rb_self *me, struct rb_sync *s, uintptr_t recorded);
RB_HIDDEN void rb_on_release_of(struct rb_self *me, struct rb_sync *s, uintptr_t recorded);

// Stores of atomics keep the clock that the object has: inline assembly reads atomics (inline_assembly.c).
extern RB_HIDDEN bool rb_stores_join;

// Returns true if the operation is not tracked: tracking is paused, or RPT is between windows. `locks` more
// are held after it. An acquire calls it after it has really happened, a release before.
RB_INLINE bool rb_sync_passed_over(struct rb_self *me, int locks)
{
    return rb_is_paused() || (RB_UNLIKELY(rb_process.windows) && !rb_sampling_sync(me, locks));
}

// Returns true if the atomic is part of the annotated mutex at work. Its size is not known: one line of
// memory at most, which has no other lock.
RB_INLINE bool rb_is_of_mutex(const struct rb_self *me, uintptr_t atomic)
{
    return me->inside_mutex && atomic - me->mutex < 64;
}

// Times an operation until rb_sync_end, for samplers that go by cost.
RB_INLINE void rb_sync_begin(struct rb_self *me)
{
    me->sync_began = rb_process.by_cost ? rb_arch_ticks() : 0;
}

RB_INLINE void rb_sync_end(struct rb_self *me)
{
    if (me->sync_began)
        rb_sampling_synced(me, rb_arch_ticks() - me->sync_began);
    me->sync_began = 0;
}

// Makes the engine's step alone, on a locked object or such a clock. So do the next four.
RB_HIDDEN void rb_sync_acquire(struct rb_self *me, struct rb_sync *s);
RB_HIDDEN void rb_sync_release(struct rb_self *me, struct rb_sync *s); // under lock discipline
RB_HIDDEN void rb_sync_release_join(struct rb_self *me, struct rb_sync *s);
RB_HIDDEN void rb_sync_release_store(struct rb_self *me, struct rb_sync *s);
RB_HIDDEN void rb_sync_clear(struct rb_self *me, struct rb_sync *s);

#endif
