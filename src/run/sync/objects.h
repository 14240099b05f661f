// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The synchronisation objects of the running program, by address: everything that orders threads has one
// (mutexes, atomics, semaphores, descriptors by a made-up address), from its first release until its memory
// is freed.
//
// A table of chains by 64-byte line of memory. A search takes no lock: objects are never given back to the
// system, and a reader that finds its address locks the object and compares again. A reader that finds
// nothing trusts that only if no object left its shard meanwhile (`gone`); else it searches again with the
// shard's lock held. Order of locks: shard, then object.
//
// Memory is bounded by the arena. When it is out, all objects go at once and the access history with them
// (rb_lost_edge): earlier releases matter only to accesses recorded before them.
#ifndef RB_RUN_SYNC_OBJECTS_H
#define RB_RUN_SYNC_OBJECTS_H

#include "run/core/rt.h"

struct rb_object {
    struct rb_object *next; // in its chain: written under the shard's lock
    uintptr_t address;      // 0: free. Written under shard's and object's lock
    uint64_t version;       // see below
    rb_spin lock;           // of all below
    uint32_t owner;         // slot of the thread that holds it as a mutex, for the engine's lock discipline
    uint32_t held_in;       // generation of the history in which `owner` was written
    uint32_t arrived;       // Java: times it is locked (tsan_java.c)
    uint32_t parties;       // barriers: threads of a round; 0: not known
    bool read_locked;       // `readers` may hold something
    bool joins; // threads release to it without the lock (atomics.c), or by assembly: nothing may be lost
    struct rb_sync main, readers; // docs/reference/trace-format.md, section 6
};

RB_HIDDEN int rb_objects_init(void);
RB_HIDDEN void rb_objects_reset_after_fork(void);
RB_HIDDEN uint64_t rb_objects_count(void);

// Finds the object at the address and locks it; NULL if there is none. rb_object_get and rb_object_make
// make it if need be, and return NULL only when memory is out (rb_lost_edge has been called).
//
// Threads remember their last acquires and releases of objects (sync_cache.h); by `version` they know if
// that still holds. It grows, under the lock, by one before a release to the object, and to its next life
// when something is taken away from it. rb_object_make is for callers that release; rb_object_get for
// others, or for callers of rb_object_changes.
RB_HIDDEN struct rb_object *rb_object_find(struct rb_self *me, uintptr_t address);
RB_HIDDEN bool rb_object_absent(uintptr_t address); // without a lock; false: there may be one
RB_HIDDEN struct rb_object *rb_object_get(struct rb_self *me, uintptr_t address);
RB_HIDDEN struct rb_object *rb_object_make(struct rb_self *me, uintptr_t address);

RB_INLINE void rb_object_unlock(struct rb_object *o)
{
    rb_spin_unlock(&o->lock);
}

RB_INLINE uint64_t rb_object_version(const struct rb_object *o)
{
    return rb_load_acquire(&o->version);
}

RB_INLINE uint32_t rb_object_life(uint64_t version)
{
    return (uint32_t)(version >> 32);
}

RB_INLINE void rb_object_changes(struct rb_object *o)
{
    rb_store_release(&o->version, o->version + 1);
}

RB_INLINE void rb_object_loses(struct rb_object *o)
{
    rb_store_release(&o->version, (o->version | UINT32_MAX) + 1);
}

// Forgets the objects in [from, from + bytes).
RB_HIDDEN void rb_objects_forget(struct rb_self *me, uintptr_t from, size_t bytes);
// Moves the objects in [from, from + bytes) to [to, to + bytes); see rb_accesses_move.
RB_HIDDEN void rb_objects_move(struct rb_self *me, uintptr_t from, uintptr_t to, size_t bytes);

#endif
