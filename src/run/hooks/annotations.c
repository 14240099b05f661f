// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Annotations of programs: sanitizer/tsan_interface.h, the older
// Annotate* functions, and railbird/railbird.h.
#include "railbird/railbird.h"

#include "run/access/access.h"
#include "run/access/history.h"
#include "run/core/upcalls.h"
#include "run/intercept/heap.h"
#include "run/record/record.h"
#include "run/report/race.h"
#include "run/sync/sync.h"
#include "run/sync/thread.h"

// ---- races that the program declares as intended -------------------------------------------------------

#define BENIGN 1024u
static struct {
    uintptr_t from, to;
} benign[BENIGN];
static uint32_t benign_count;

bool rb_is_benign(uintptr_t address)
{
    const uint32_t n = rb_load_acquire(&benign_count);

    for (uint32_t i = 0; i < n && i < BENIGN; i++)
        if (address >= benign[i].from && address < benign[i].to)
            return true;
    return false;
}

static void add_benign(uintptr_t from, size_t size)
{
    static rb_spin lock;
    struct rb_self *me = rb_enter();

    if (!me)
        return;
    rb_spin_lock(&lock);
    if (benign_count < BENIGN) {
        benign[benign_count].from = from;
        benign[benign_count].to = from + size;
        rb_store_release(&benign_count, benign_count + 1);
    }
    rb_spin_unlock(&lock);
    rb_leave(me);
}

// ---- verbs ---------------------------------------------------------------------------------------------

// One function a row: its name, its parameters, its work for the thread `me`.
#define RB_SAY(name, params, does)       \
    RB_EXPORT void name params;          \
    RB_EXPORT void name params           \
    {                                    \
        struct rb_self *me = rb_enter(); \
        if (!me)                         \
            return;                      \
        does;                            \
        rb_races_report(me);             \
        rb_leave(me);                    \
    }

#define RB_PLACE        const char *file, int line
#define RB_UNUSED_PLACE ((void)file, (void)line)

RB_SAY(__tsan_acquire, (void *a), rb_on_acquire(me, (uintptr_t)a))
RB_SAY(__tsan_release, (void *a), rb_on_release(me, (uintptr_t)a))
RB_SAY(AnnotateHappensBefore, (RB_PLACE, const volatile void *a),
       (RB_UNUSED_PLACE, rb_on_release(me, (uintptr_t)a)))
RB_SAY(AnnotateHappensAfter, (RB_PLACE, const volatile void *a),
       (RB_UNUSED_PLACE, rb_on_acquire(me, (uintptr_t)a)))
RB_SAY(AnnotateRWLockCreate, (RB_PLACE, const volatile void *l),
       (RB_UNUSED_PLACE, rb_on_destroy(me, (uintptr_t)l, 1)))
RB_SAY(AnnotateRWLockCreateStatic, (RB_PLACE, const volatile void *l),
       (RB_UNUSED_PLACE, rb_on_destroy(me, (uintptr_t)l, 1)))
RB_SAY(AnnotateRWLockDestroy, (RB_PLACE, const volatile void *l),
       (RB_UNUSED_PLACE, rb_on_destroy(me, (uintptr_t)l, 1)))
RB_SAY(AnnotateRWLockAcquired, (RB_PLACE, const volatile void *l, long write),
       (RB_UNUSED_PLACE, write ? rb_on_lock(me, (uintptr_t)l) : rb_on_read_lock(me, (uintptr_t)l)))
RB_SAY(AnnotateRWLockReleased, (RB_PLACE, const volatile void *l, long write),
       (RB_UNUSED_PLACE, write ? rb_on_rw_unlock(me, (uintptr_t)l) : rb_on_read_unlock(me, (uintptr_t)l)))
RB_SAY(AnnotateIgnoreReadsBegin, (RB_PLACE), (RB_UNUSED_PLACE, me->ignore_reads++))
RB_SAY(AnnotateIgnoreReadsEnd, (RB_PLACE), (RB_UNUSED_PLACE, me->ignore_reads -= me->ignore_reads > 0))
RB_SAY(AnnotateIgnoreWritesBegin, (RB_PLACE), (RB_UNUSED_PLACE, me->ignore_writes++))
RB_SAY(AnnotateIgnoreWritesEnd, (RB_PLACE), (RB_UNUSED_PLACE, me->ignore_writes -= me->ignore_writes > 0))
RB_SAY(AnnotateIgnoreSyncBegin, (RB_PLACE), (RB_UNUSED_PLACE, me->ignore_sync++))
RB_SAY(AnnotateIgnoreSyncEnd, (RB_PLACE), (RB_UNUSED_PLACE, me->ignore_sync -= me->ignore_sync > 0))
RB_SAY(AnnotateNewMemory, (RB_PLACE, const volatile void *a, size_t n),
       (RB_UNUSED_PLACE, rb_memory_new(me, (uintptr_t)a, n)))
RB_SAY(AnnotateThreadName, (RB_PLACE, const char *name), (RB_UNUSED_PLACE, rb_thread_name(me->id, name)))
RB_SAY(railbird_acquire, (const volatile void *a), rb_on_acquire(me, (uintptr_t)a))
RB_SAY(railbird_release, (const volatile void *a), rb_on_release(me, (uintptr_t)a))
RB_SAY(railbird_new_memory, (const volatile void *a, size_t n), rb_memory_new(me, (uintptr_t)a, n))
RB_SAY(railbird_ignore_begin, (void), (me->ignore_reads++, me->ignore_writes++))
RB_SAY(railbird_ignore_end, (void),
       (me->ignore_reads -= me->ignore_reads > 0, me->ignore_writes -= me->ignore_writes > 0))

RB_EXPORT void AnnotateBenignRaceSized(RB_PLACE, const volatile void *a, size_t size, const char *why);
RB_EXPORT void AnnotateBenignRaceSized(RB_PLACE, const volatile void *a, size_t size, const char *why)
{
    RB_UNUSED_PLACE;
    (void)why;
    add_benign((uintptr_t)a, size);
}

RB_EXPORT void WTFAnnotateBenignRaceSized(RB_PLACE, const volatile void *a, size_t size, const char *why);
RB_EXPORT void WTFAnnotateBenignRaceSized(RB_PLACE, const volatile void *a, size_t size, const char *why)
{
    AnnotateBenignRaceSized(file, line, a, size, why);
}

RB_EXPORT void AnnotateBenignRace(RB_PLACE, const volatile void *a, const char *why);
RB_EXPORT void AnnotateBenignRace(RB_PLACE, const volatile void *a, const char *why)
{
    AnnotateBenignRaceSized(file, line, a, 1, why);
}

RB_EXPORT void railbird_benign_race(const volatile void *a, size_t size)
{
    add_benign((uintptr_t)a, size);
}

RB_EXPORT uint64_t railbird_races(void)
{
    return rb_races_count();
}

// ---- the mutex interface of tsan_interface.h: the flags that matter ------------------------------------

enum { MUTEX_READ = 1 << 3, MUTEX_TRY = 1 << 4, MUTEX_TRY_FAILED = 1 << 5 };

RB_SAY(__tsan_mutex_create, (void *m, unsigned flags), ((void)flags, rb_on_destroy(me, (uintptr_t)m, 1)))
RB_SAY(__tsan_mutex_destroy, (void *m, unsigned flags), ((void)flags, rb_on_destroy(me, (uintptr_t)m, 1)))
// Between pre_lock and post_lock the program works on the mutex itself. The annotations state the order.
// So accesses there are not checked, and atomics that are part of the mutex order nothing
// (rb_is_of_mutex). All other synchronisation there orders as usual: data that another lock protects, such
// as a block of a pool, are used outside too.
static void suspend_checks(struct rb_self *me, const void *mutex)
{
    if (me->inside_mutex++ == 0)
        me->mutex = (uintptr_t)mutex;
    me->ignore_reads++;
    me->ignore_writes++;
}
static void resume_checks(struct rb_self *me)
{
    me->inside_mutex -= me->inside_mutex > 0;
    me->ignore_reads -= me->ignore_reads > 0;
    me->ignore_writes -= me->ignore_writes > 0;
}
RB_SAY(__tsan_mutex_pre_lock, (void *m, unsigned flags), ((void)flags, suspend_checks(me, m)))
RB_EXPORT void __tsan_mutex_post_lock(void *m, unsigned flags, int recursion);
RB_EXPORT void __tsan_mutex_post_lock(void *m, unsigned flags, int recursion)
{
    struct rb_self *me = rb_enter();

    (void)recursion;
    if (!me)
        return;
    resume_checks(me);
    if (!(flags & MUTEX_TRY_FAILED)) {
        if (flags & MUTEX_READ)
            rb_on_read_lock(me, (uintptr_t)m);
        else
            rb_on_lock(me, (uintptr_t)m);
    }
    rb_leave(me);
}

RB_EXPORT int __tsan_mutex_pre_unlock(void *m, unsigned flags);
RB_EXPORT int __tsan_mutex_pre_unlock(void *m, unsigned flags)
{
    struct rb_self *me = rb_enter();

    if (!me)
        return 1;
    if (flags & MUTEX_READ)
        rb_on_read_unlock(me, (uintptr_t)m);
    else
        rb_on_rw_unlock(me, (uintptr_t)m);
    suspend_checks(me, m);
    rb_leave(me);
    return 1;
}
RB_SAY(__tsan_mutex_post_unlock, (void *m, unsigned flags), ((void)m, (void)flags, resume_checks(me)))
RB_SAY(__tsan_mutex_pre_signal, (void *m, unsigned flags), ((void)flags, suspend_checks(me, m)))
RB_SAY(__tsan_mutex_post_signal, (void *m, unsigned flags), ((void)m, (void)flags, resume_checks(me)))
// Divert: returns to the program for a while in the middle of a mutex operation.
RB_SAY(__tsan_mutex_pre_divert, (void *m, unsigned flags), ((void)m, (void)flags, resume_checks(me)))
RB_SAY(__tsan_mutex_post_divert, (void *m, unsigned flags), ((void)flags, suspend_checks(me, m)))

// ---- fibers --------------------------------------------------------------------------------------------
// A fiber has a state of its own; switching makes the thread use it. The state that a thread began with is
// its fiber while it is on no other.

RB_EXPORT void *__tsan_get_current_fiber(void);
RB_EXPORT void *__tsan_get_current_fiber(void)
{
    return rb_self_get();
}

RB_EXPORT void *__tsan_create_fiber(unsigned flags);
RB_EXPORT void *__tsan_create_fiber(unsigned flags)
{
    struct rb_self *me = rb_enter(), *fiber;

    (void)flags;
    if (!me)
        return NULL;
    fiber = rb_fiber_new(me);
    if (fiber) {
        rb_sync_release_store(me, &fiber->begun);
        rb_record_sync(me, RB_FORK, fiber->id);
        rb_sync_acquire(fiber, &fiber->begun);
    }
    rb_leave(me);
    return fiber;
}

RB_EXPORT void __tsan_destroy_fiber(void *fiber);
RB_EXPORT void __tsan_destroy_fiber(void *fiber)
{
    struct rb_self *me = rb_enter();

    if (!me)
        return;
    if (fiber && fiber != me)
        rb_fiber_free(me, fiber);
    rb_leave(me);
}

RB_EXPORT void __tsan_switch_to_fiber(void *to, unsigned flags);
RB_EXPORT void __tsan_switch_to_fiber(void *to, unsigned flags)
{
    struct rb_self *me = rb_enter(), *fiber = to;

    if (!me)
        return;
    if (!fiber || fiber == me) {
        rb_leave(me);
        return;
    }
    fiber->busy = 1;
    if (!(flags & 1)) { // 1: __tsan_switch_to_fiber_no_sync
        rb_sync_release_store(me, &fiber->begun);
        rb_record_sync(me, RB_STORE, (uintptr_t)&fiber->begun);
        rb_sync_acquire(fiber, &fiber->begun);
        rb_record_sync(fiber, RB_LOAD, (uintptr_t)&fiber->begun);
    }
    me->fiber_skip = rb_skip;
    rb_self_tls = fiber;
    rb_skip = fiber->fiber_skip;
    rb_leave(me);
    rb_leave(fiber);
}

RB_EXPORT void __tsan_set_fiber_name(void *fiber, const char *name);
RB_EXPORT void __tsan_set_fiber_name(void *fiber, const char *name)
{
    struct rb_self *me = rb_enter();

    if (!me)
        return;
    if (fiber)
        rb_thread_name(((struct rb_self *)fiber)->id, name);
    rb_leave(me);
}

// ---- queries of programs that support several detectors ------------------------------------------------

RB_EXPORT int RunningOnValgrind(void);
RB_EXPORT int RunningOnValgrind(void)
{
    return 0;
}

RB_EXPORT void __tsan_flush_memory(void);
RB_EXPORT void __tsan_flush_memory(void)
{
    struct rb_self *me = rb_enter();

    if (!me)
        return;
    rb_accesses_forget_all();
    rb_leave(me);
}
