// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thread's memory of the objects it synchronised with last. Most locks and atomics have nothing new for
// the thread, and it has nothing new for them; that costs a few comparisons here, no lock and no shared
// write.
//
//   heard    The thread has acquired all that the object held while its version was `version`.
//   covered  The object holds all that the thread knew when its clock was at (clock, epoch). So a
//            release to it changes nothing, on two conditions: the thread acquires and records nothing
//            new, and nothing is taken away from the object (its life is the same).
//
// Releases to a mutex follow an acquire, those of read-modify-writes join: the content of an object only
// grows within a life. Readers of a read-write lock remember it under another name (RB_TO_READ): they have
// acquired its main set alone, and their releases are in main and readers together. Only for engines that
// can tell when a clock has changed; not while a run is recorded, nor where synchronisation may be passed
// over (windows): rb_process.quick.
#ifndef RB_RUN_SYNC_SYNC_CACHE_H
#define RB_RUN_SYNC_SYNC_CACHE_H

#include "base/types.h"
#include "run/access/access.h"
#include "run/sync/objects.h"

#define RB_TO_READ ((uintptr_t)1 << 63) // a bit of an address that is no object's

RB_INLINE struct rb_known *rb_known_of(struct rb_self *me, uintptr_t address)
{
    return &me->known[rb_hash(address, 64 - RB_KNOWN_SHIFT)];
}

RB_INLINE bool rb_known_heard(const struct rb_known *k, uintptr_t address)
{
    return k->address == address && rb_object_version(k->object) == k->version;
}

// Returns true if the object holds the thread's clock.
RB_INLINE bool rb_known_published(const struct rb_self *me, const struct rb_known *k)
{
    return k->epoch == me->hb.epoch && k->clock == me->hb.version && !me->hb.sampled &&
           rb_object_life(rb_object_version(k->object)) == rb_object_life(k->version);
}

// Returns true if, besides, no unseen library may have something new for the thread to pass on.
RB_INLINE bool rb_known_covered(const struct rb_self *me, const struct rb_known *k)
{
    return rb_known_published(me, k) && !me->unseen.pending;
}

// Notes that the thread has acquired all that the object holds (`heard`), or that the object holds all that
// the thread knows (`covered`), or both. Its lock is held. Earlier knowledge of it stays.
RB_INLINE void rb_known_write(struct rb_self *me, struct rb_known *k, uintptr_t address, struct rb_object *o,
                              bool heard, bool covered)
{
    if (k->object != o || k->address != address || rb_object_life(k->version) != rb_object_life(o->version))
        *k = (struct rb_known){.address = address, .object = o, .version = o->version | UINT32_MAX};
    if (heard)
        k->version = o->version;
    if (covered) {
        k->clock = me->hb.version;
        k->epoch = me->hb.epoch;
    }
}

// Notes the begin of an atomic operation that may fault. The object's lock is held, if there is one, until
// rb_step_ends. If the operation has faulted, the lock was free meanwhile (signals.c), and the object may
// be another's now.
RB_INLINE void rb_step_begins(struct rb_self *me, uintptr_t address, struct rb_object *o)
{
    me->step_on = o;
    me->step_at = address;
}

RB_INLINE void rb_step_ends(struct rb_self *me)
{
    if (me->step_on && RB_UNLIKELY(me->step_on->address != me->step_at))
        *rb_known_of(me, me->step_at) = (struct rb_known){.address = 0};
    me->step_at = 0;
    me->step_on = NULL;
}

// Counts operations that are too short to be timed, for samplers that go by cost.
RB_INLINE void rb_known_count(struct rb_self *me, uint64_t so_far)
{
    if (RB_UNLIKELY(so_far % 1024 == 0 && rb_process.by_cost))
        rb_sampling_synced(me, 0);
}

RB_INLINE void rb_known_skip_acquire(struct rb_self *me)
{
    me->count.acquires++;
    me->count.acquires_skipped++;
    rb_known_count(me, me->count.acquires);
}

RB_INLINE void rb_known_skip_release(struct rb_self *me)
{
    me->count.releases++;
    me->count.releases_skipped++;
}

// Locks and unlocks with nothing new for the thread or the object. False: sync.c has to do the work.

RB_INLINE bool rb_known_lock(struct rb_self *me, uintptr_t object)
{
    struct rb_known *k = rb_known_of(me, object);

    if (RB_UNLIKELY(!rb_process.quick || me->ignore_sync || !rb_known_heard(k, object)))
        return false;
    rb_known_skip_acquire(me);
    k->held = rb_load_relaxed(&rb_process.generation);
    return true;
}

// Returns true if the thread remembers that it locked the object. The object may not know of it.
RB_INLINE bool rb_known_held(const struct rb_known *k, uintptr_t object)
{
    return k->address == object && k->held && k->held == rb_load_relaxed(&rb_process.generation);
}

RB_INLINE bool rb_known_unlock(struct rb_self *me, uintptr_t object)
{
    struct rb_known *k = rb_known_of(me, object);

    if (RB_UNLIKELY(!rb_process.quick || me->ignore_sync || !rb_known_held(k, object) ||
                    !rb_known_covered(me, k)))
        return false;
    rb_known_skip_release(me);
    k->held = 0;
    return true;
}

// Read-write locks. A thread that holds one to write is in the object (`owner`) only after the slow path,
// and must be removed from there: unlocks by the fast path follow locks by the fast path.

RB_INLINE void rb_known_reads(struct rb_known *k)
{
    const uint32_t generation = rb_load_relaxed(&rb_process.generation);

    k->depth = k->held == generation ? k->depth + 1 : 1;
    k->held = generation;
}

RB_INLINE void rb_known_leaves(struct rb_known *k)
{
    if (!k->depth || !--k->depth)
        k->held = 0;
}

RB_INLINE bool rb_known_owner(const struct rb_self *me, const struct rb_object *o)
{
    return rb_load_relaxed(&o->owner) == me->hb.slot;
}

RB_INLINE bool rb_known_read_lock(struct rb_self *me, uintptr_t object)
{
    struct rb_known *k = rb_known_of(me, object | RB_TO_READ);

    if (RB_UNLIKELY(!rb_process.quick || me->ignore_sync || !rb_known_heard(k, object | RB_TO_READ) ||
                    rb_known_owner(me, k->object)))
        return false;
    rb_known_skip_acquire(me);
    rb_known_reads(k);
    return true;
}

RB_INLINE bool rb_known_rw_unlock(struct rb_self *me, uintptr_t object)
{
    struct rb_known *to_write = rb_known_of(me, object), *to_read = rb_known_of(me, object | RB_TO_READ);
    const bool writes = rb_known_held(to_write, object), reads = rb_known_held(to_read, object | RB_TO_READ);
    struct rb_known *k = writes ? to_write : to_read;

    if (RB_UNLIKELY(!rb_process.quick || me->ignore_sync || writes == reads || !rb_known_covered(me, k) ||
                    rb_known_owner(me, k->object)))
        return false;
    rb_known_skip_release(me);
    rb_known_leaves(k);
    return true;
}

// Calls one of these from outside the guard.
RB_INLINE bool rb_quick(bool (*does)(struct rb_self *me, uintptr_t object), uintptr_t object)
{
    struct rb_self *me = rb_self_tls;

    if (RB_UNLIKELY(!me || me->busy))
        return false;
    me->busy = 1;
    __asm__ volatile("" ::: "memory");
    const bool done = does(me, object);
    rb_leave(me);
    return done;
}

#endif
