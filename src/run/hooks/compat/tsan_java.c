// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Java by TSan's names: a virtual machine reports its heap, its moves, its locks. All calls but the moves
// come from the thread they concern; moves come while all threads stand still.
//
// The starts of objects are kept in a table with one word for each 8 bytes of the heap. It is mapped
// without being reserved: only used parts take memory.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/pages.h"
#include "run/access/history.h"
#include "run/core/upcalls.h"
#include "run/intercept/heap.h"
#include "run/sync/sync.h"

#define UNIT 8u // everything in the heap is aligned to it

static uintptr_t heap, heap_end;
static uint32_t *sizes; // size of the object that begins at a unit, in units; 0: none begins

// One function a row: its parameters, its work for the thread `me`.
#define RB_JAVA(name, params, does)           \
    RB_EXPORT void __tsan_java_##name params; \
    RB_EXPORT void __tsan_java_##name params  \
    {                                         \
        struct rb_self *me = rb_enter();      \
        if (!me)                              \
            return;                           \
        does;                                 \
        rb_leave(me);                         \
    }

static bool is_in_heap(uintptr_t address, size_t size)
{
    return sizes && address >= heap && address < heap_end && size <= heap_end - address;
}

static uint32_t *size_at(uintptr_t address)
{
    return &sizes[(address - heap) / UNIT];
}

static void begin_heap(struct rb_self *me, uintptr_t from, size_t size)
{
    uint32_t *map = rb_pages_map((size / UNIT + 1) * sizeof(*sizes));

    if (map) {
        heap = from;
        heap_end = from + size;
        sizes = map;
    }
    rb_memory_new(me, from, size);
}

static void add_object(struct rb_self *me, uintptr_t object, size_t size)
{
    rb_memory_new(me, object, size);
    if (is_in_heap(object, size))
        *size_at(object) = (uint32_t)(size / UNIT);
}

static void remove_objects(struct rb_self *me, uintptr_t from, size_t size)
{
    rb_memory_new(me, from, size);
    for (uintptr_t at = from; is_in_heap(from, size) && at < from + size; at += UNIT)
        *size_at(at) = 0;
}

// Moves objects with their history and their locks. The places may overlap: a
// move upwards starts with the last object.
static void move_objects(struct rb_self *me, uintptr_t from, uintptr_t to, size_t size)
{
    const bool up = to > from;

    rb_accesses_move(me, from, to, size);
    rb_objects_move(me, from, to, size);
    if (!is_in_heap(from, size) || !is_in_heap(to, size))
        return;
    for (size_t i = 0; i < size; i += UNIT) {
        const size_t at = up ? size - UNIT - i : i;
        const uint32_t object = *size_at(from + at);
        *size_at(from + at) = 0;
        *size_at(to + at) = object;
    }
}

RB_JAVA(init, (uintptr_t from, size_t size), begin_heap(me, from, size))
RB_JAVA(alloc, (uintptr_t object, size_t size), add_object(me, object, size))
RB_JAVA(free, (uintptr_t from, size_t size), remove_objects(me, from, size))
RB_JAVA(move, (uintptr_t from, uintptr_t to, size_t size), move_objects(me, from, to, size))
// A finalizer comes after all uses of its object, by any thread.
RB_JAVA(finalize, (void), rb_lost_edge(me))

// Finds the first object in [*from, to). Returns its size and sets *from to its start; 0: there is none.
RB_EXPORT size_t __tsan_java_find(uintptr_t *from, uintptr_t to);
RB_EXPORT size_t __tsan_java_find(uintptr_t *from, uintptr_t to)
{
    for (uintptr_t at = *from; is_in_heap(at, 0) && at < to; at += UNIT)
        if (*size_at(at)) {
            *from = at;
            return *size_at(at) * (size_t)UNIT;
        }
    return 0;
}

RB_EXPORT int __tsan_java_fini(void);
RB_EXPORT int __tsan_java_fini(void)
{
    return rb_finish(0);
}

// ---- locks ---------------------------------------------------------------------------------------------

// They may be locked several times; the depth is counted in the object.

static void lock_object(struct rb_self *me, uintptr_t mutex, int times)
{
    struct rb_object *o;

    rb_on_lock(me, mutex);
    if ((o = rb_object_make(me, mutex)) != NULL) {
        o->arrived += (uint32_t)times;
        rb_object_unlock(o);
    }
}

static int unlock_object(struct rb_self *me, uintptr_t mutex, bool all)
{
    struct rb_object *o = rb_object_make(me, mutex);
    int times = 1;

    if (o) {
        times = all ? (int)o->arrived : o->arrived > 0;
        o->arrived -= (uint32_t)times;
        rb_object_unlock(o);
    }
    rb_on_unlock(me, mutex);
    return times;
}

RB_JAVA(mutex_lock, (uintptr_t mutex), lock_object(me, mutex, 1))
RB_JAVA(mutex_unlock, (uintptr_t mutex), unlock_object(me, mutex, false))
RB_JAVA(mutex_lock_rec, (uintptr_t mutex, int times), lock_object(me, mutex, times))
RB_JAVA(mutex_read_lock, (uintptr_t mutex), rb_on_read_lock(me, mutex))
RB_JAVA(mutex_read_unlock, (uintptr_t mutex), rb_on_read_unlock(me, mutex))
RB_JAVA(acquire, (uintptr_t object), rb_on_acquire(me, object))
RB_JAVA(release, (uintptr_t object), rb_on_release(me, object))
RB_JAVA(release_store, (uintptr_t object), rb_on_release_store(me, object))

// Unlocks completely. Returns the depth, for mutex_lock_rec.
RB_EXPORT int __tsan_java_mutex_unlock_rec(uintptr_t mutex);
RB_EXPORT int __tsan_java_mutex_unlock_rec(uintptr_t mutex)
{
    struct rb_self *me = rb_enter();
    int times;

    if (!me)
        return 1;
    times = unlock_object(me, mutex, true);
    rb_leave(me);
    return times;
}
