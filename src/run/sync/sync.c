// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Synchronisation operations (sync.h): the engine's steps under the object's lock, and the thread's memory
// of them.
#include "run/sync/sync.h"

#include <errno.h>

#include "run/access/access.h"
#include "run/access/history.h"
#include "run/core/upcalls.h"
#include "run/record/record.h"
#include "run/sync/sync_cache.h"

bool rb_stores_join;

void rb_lost_edge(struct rb_self *me)
{
    if (me)
        me->engine.blind = false;
    rb_fetch_add_relaxed(&rb_process.lost_edges, 1);
    rb_accesses_forget_all();
}

// Counts a lost edge if the engine gave one up. After each step of the engine.
static inline void settle_step(struct rb_self *me)
{
    if (RB_UNLIKELY(me->engine.blind))
        rb_lost_edge(me);
}

static inline void prepare_step(struct rb_self *me)
{
    me->engine.width = rb_load_relaxed(&rb_process.width);
}

// Prepares a release: the thread has acquired by now all that it may pass on. Also for creation and end of threads, which are followed even while tracking is
// paused.
static inline void prepare_release(struct rb_self *me)
{
    if (RB_UNLIKELY(me->unseen.pending))
        rb_unseen_settle(me);
    prepare_step(me);
    if (RB_UNLIKELY(rb_process.paused & RB_COUNTS))
        rb_step(me);
}

void rb_sync_acquire(struct rb_self *me, struct rb_sync *s)
{
    prepare_step(me);
    me->count.acquires++;
    me->count.acquires_skipped += rb_process.ops->acquire(&me->engine, &me->hb, s);
    settle_step(me);
}

void rb_sync_release(struct rb_self *me, struct rb_sync *s)
{
    prepare_release(me);
    me->count.releases++;
    me->count.releases_skipped += rb_process.ops->release(&me->engine, &me->hb, s);
    settle_step(me);
}

void rb_sync_release_join(struct rb_self *me, struct rb_sync *s)
{
    prepare_release(me);
    me->count.releases++;
    me->count.releases_skipped += rb_process.ops->release_join(&me->engine, &me->hb, s);
    settle_step(me);
}

void rb_sync_release_store(struct rb_self *me, struct rb_sync *s)
{
    prepare_release(me);
    me->count.releases++;
    me->count.releases_skipped += rb_process.ops->release_store(&me->engine, &me->hb, s);
    settle_step(me);
}

void rb_sync_clear(struct rb_self *me, struct rb_sync *s)
{
    rb_process.ops->sync_clear(&me->engine, s);
}

// Returns true if the operation is not tracked. Else its cost is timed until finish_operation.
static inline bool is_passed_over(struct rb_self *me, int locks)
{
    if (me->ignore_sync || rb_sync_passed_over(me, locks))
        return true;
    rb_sync_begin(me);
    return false;
}

static inline void finish_operation(struct rb_self *me, struct rb_object *o)
{
    rb_object_unlock(o);
    rb_sync_end(me);
}

// Notes the holder of an object. It is known only while no operation is missed: not after the history was
// forgotten, be it for a lost edge or because synchronisation was passed over for a while. The object's
// lock is held.
static inline void set_owner(struct rb_object *o, uint32_t owner)
{
    // read by other threads, which compare it with their slot (sync_cache.h)
    rb_store_relaxed(&o->owner, owner);
    o->held_in = rb_load_acquire(&rb_process.generation);
}

static inline bool is_held(const struct rb_object *o, uint32_t owner)
{
    return o->owner == owner && o->held_in == rb_load_acquire(&rb_process.generation);
}

static RB_NOINLINE void lock_object(struct rb_self *me, uintptr_t object)
{
    struct rb_known *k = rb_known_of(me, object);
    struct rb_object *o;

    if (is_passed_over(me, 1) || !(o = rb_object_get(me, object)))
        return;
    rb_sync_acquire(me, &o->main);
    if (o->read_locked)
        rb_sync_acquire(me, &o->readers);
    set_owner(o, me->hb.slot);
    rb_known_write(me, k, object, o, true, false);
    k->held = rb_load_relaxed(&rb_process.generation);
    rb_record_sync(me, RB_ACQUIRE, object);
    finish_operation(me, o);
}

void rb_on_lock(struct rb_self *me, uintptr_t object)
{
    if (!rb_known_lock(me, object))
        lock_object(me, object);
}

void rb_on_robust_lock(struct rb_self *me, uintptr_t object, int result)
{
    if (RB_UNLIKELY(result == EOWNERDEAD)) // ordered after the end of a thread that is no longer known
        rb_lost_edge(me);
    rb_on_lock(me, object);
}

// Releases under lock discipline, unless inline assembly releases to the object as well.
static void release_main(struct rb_self *me, struct rb_object *o)
{
    if (RB_UNLIKELY(o->joins))
        rb_sync_release_join(me, &o->main);
    else
        rb_sync_release(me, &o->main);
}

static RB_NOINLINE void unlock_object(struct rb_self *me, uintptr_t object)
{
    struct rb_known *k = rb_known_of(me, object);
    struct rb_object *o;

    if (is_passed_over(me, -1) || !(o = rb_object_make(me, object)))
        return;
    // If the runtime did not see the lock taken, the engine's short cut for mutexes does not hold.
    if (RB_LIKELY(is_held(o, me->hb.slot) || rb_known_held(k, object)))
        release_main(me, o);
    else
        rb_sync_release_join(me, &o->main);
    set_owner(o, RB_NO_SLOT);
    // no other thread released since
    if (k->address == object && k->object == o && k->version + 1 == o->version)
        rb_known_write(me, k, object, o, true, true);
    if (k->address == object)
        k->held = 0;
    rb_record_sync(me, RB_RELEASE, object);
    finish_operation(me, o);
}

void rb_on_unlock(struct rb_self *me, uintptr_t object)
{
    if (!rb_known_unlock(me, object))
        unlock_object(me, object);
}

static RB_NOINLINE void read_lock_object(struct rb_self *me, uintptr_t object)
{
    struct rb_known *k = rb_known_of(me, object | RB_TO_READ);
    struct rb_object *o;

    if (is_passed_over(me, 1) || !(o = rb_object_get(me, object)))
        return;
    rb_sync_acquire(me, &o->main);
    set_owner(o, RB_NO_SLOT);
    rb_known_write(me, k, object | RB_TO_READ, o, true, false);
    rb_known_reads(k);
    rb_record_sync(me, RB_RD_ACQ, object);
    finish_operation(me, o);
}

void rb_on_read_lock(struct rb_self *me, uintptr_t object)
{
    if (!rb_known_read_lock(me, object))
        read_lock_object(me, object);
}

// Releases a read lock to writers; `k` is the thread's memory of the object as a reader. The object's lock
// is held.
static void release_to_writers(struct rb_self *me, struct rb_object *o, struct rb_known *k)
{
    const bool heard = k->version + 1 == o->version; // no other thread released since it locked

    rb_sync_release_join(me, &o->readers);
    o->read_locked = true;
    if (k->object == o && k->address == (o->address | RB_TO_READ))
        rb_known_write(me, k, o->address | RB_TO_READ, o, heard, true);
}

void rb_on_read_unlock(struct rb_self *me, uintptr_t object)
{
    struct rb_known *k = rb_known_of(me, object | RB_TO_READ);
    struct rb_object *o;

    if (is_passed_over(me, -1) || !(o = rb_object_make(me, object)))
        return;
    if (rb_known_held(k, object | RB_TO_READ))
        rb_known_leaves(k);
    release_to_writers(me, o, k);
    rb_record_sync(me, RB_RD_REL, object);
    finish_operation(me, o);
}

// Releases a write lock: no thread has read since, and the writer has acquired the readers' releases.
static void release_to_all(struct rb_self *me, struct rb_object *o, struct rb_known *k)
{
    release_main(me, o);
    if (o->read_locked)
        rb_sync_clear(me, &o->readers);
    o->read_locked = false;
    if (k->object == o && k->address == o->address && k->version + 1 == o->version)
        rb_known_write(me, k, o->address, o, true, true);
    rb_record_sync(me, RB_RELEASE, o->address);
}

static RB_NOINLINE void rw_unlock_object(struct rb_self *me, uintptr_t object)
{
    struct rb_known *to_write = rb_known_of(me, object), *to_read = rb_known_of(me, object | RB_TO_READ);
    const bool writes = rb_known_held(to_write, object), reads = rb_known_held(to_read, object | RB_TO_READ);
    struct rb_object *o;

    if (is_passed_over(me, -1) || !(o = rb_object_make(me, object)))
        return;
    if (writes)
        to_write->held = 0;
    if (reads)
        rb_known_leaves(to_read);
    if (!reads && (writes || is_held(o, me->hb.slot))) {
        release_to_all(me, o, to_write);
    } else {
        const uint8_t recorded = o->owner == me->hb.slot ? RB_RELEASE : RB_RD_REL;
        if (writes || !reads) // not known which: releases to readers and writers
            rb_sync_release_join(me, &o->main);
        release_to_writers(me, o, to_read);
        rb_record_sync(me, recorded, object);
    }
    if (o->owner == me->hb.slot)
        set_owner(o, RB_NO_SLOT);
    finish_operation(me, o);
}

void rb_on_rw_unlock(struct rb_self *me, uintptr_t object)
{
    if (!rb_known_rw_unlock(me, object))
        rw_unlock_object(me, object);
}

void rb_on_acquire(struct rb_self *me, uintptr_t object)
{
    struct rb_object *o;

    if (is_passed_over(me, 0) || !(o = rb_object_find(me, object)))
        return;
    rb_sync_acquire(me, &o->main);
    rb_record_sync(me, RB_WAIT, object);
    finish_operation(me, o);
}

void rb_on_release(struct rb_self *me, uintptr_t object)
{
    struct rb_object *o;

    if (is_passed_over(me, 0) || !(o = rb_object_make(me, object)))
        return;
    rb_sync_release_join(me, &o->main);
    rb_record_sync(me, RB_POST, object);
    finish_operation(me, o);
}

void rb_on_acquire_of(struct rb_self *me, struct rb_sync *s, uintptr_t recorded)
{
    if (is_passed_over(me, 0))
        return;
    rb_sync_acquire(me, s);
    rb_record_sync(me, RB_WAIT, recorded);
    rb_sync_end(me);
}

void rb_on_release_of(struct rb_self *me, struct rb_sync *s, uintptr_t recorded)
{
    if (is_passed_over(me, 0))
        return;
    rb_sync_release_join(me, s);
    rb_record_sync(me, RB_POST, recorded);
    rb_sync_end(me);
}

void rb_on_release_store(struct rb_self *me, uintptr_t object)
{
    struct rb_object *o;

    if (is_passed_over(me, 0) || !(o = rb_object_make(me, object)))
        return;
    rb_object_loses(o);
    rb_sync_release_store(me, &o->main);
    rb_record_sync(me, RB_STORE, object);
    finish_operation(me, o);
}

void rb_on_destroy(struct rb_self *me, uintptr_t object, size_t bytes)
{
    rb_objects_forget(me, object, bytes);
}
