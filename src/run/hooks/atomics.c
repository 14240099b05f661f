// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// __tsan_atomic*: C11 atomics of 1 to 16 bytes. The hook performs the operation itself.
//
// The order of an atomic (docs/reference/trace-format.md, section 6): a release store replaces the clock of the
// object, a read-modify-write joins it, an acquire learns it. A relaxed operation makes no edge. A relaxed
// read-modify-write keeps the object's clock: the release sequence goes on.
//
// The value and the clock change together, under the object's lock. Else an acquire could read one thread's
// value and learn another's clock, and an edge would be missing. So operations that release or acquire hold
// the lock around the operation. An acquire load without an object loads and looks up the object again. If
// there is one by then, it loads once more under the object's lock.
//
// The access itself is checked after the acquire, which orders it, and before the release, which publishes
// it.
//
// Fences: after an acquire fence the thread knows the clocks that its earlier relaxed loads saw.
// After a release fence its later relaxed stores publish the thread's clock at the fence. Both use a
// second clock of the thread, its `shadow`, which collects at relaxed loads and hands out at relaxed
// stores. Without it relaxed operations cost nothing. So it is used only from the program's first
// fence on, or from the start where every access is taken. At the first fence everything recorded
// before is forgotten, as for a lost edge.
#include "run/access/access.h"
#include "run/core/upcalls.h"
#include "run/record/record.h"
#include "run/report/race.h"
#include "run/sync/sync.h"
#include "run/sync/sync_cache.h"
#include "run/sync/thread.h"

typedef uint8_t a8;
typedef uint16_t a16;
typedef uint32_t a32;
typedef uint64_t a64;
typedef unsigned __int128 a128;

struct rb_fences {
    struct rb_self *shadow;
    struct rb_sync released, collected;
    bool has_released, has_collected;
    uint64_t clock, epoch; // of the thread, when it released
};

bool rb_fences_on;

static inline bool is_acquire(int order)
{
    return order == __ATOMIC_CONSUME || order == __ATOMIC_ACQUIRE || order >= __ATOMIC_ACQ_REL;
}

static inline bool is_release(int order)
{
    return order == __ATOMIC_RELEASE || order >= __ATOMIC_ACQ_REL;
}

// Returns true if the next access will be skipped.
static inline bool is_passed(void)
{
    return rb_unpatched_skip > 0 || rb_skip > 0;
}

// Compilers may pass orders with hint bits above (x86 lock elision).
static inline int plain_order(int order)
{
    return order & 0x7fff;
}

// ---- fences --------------------------------------------------------------------------------------------

static struct rb_fences *fences_of(struct rb_self *me)
{
    struct rb_fences *f = me->fences;

    if (f)
        return f;
    f = rb_arena_zalloc(&rb_process.arena, sizeof(*f));
    if (f && (f->shadow = rb_fiber_new(me)) == NULL) {
        rb_arena_free(&rb_process.arena, f, sizeof(*f));
        f = NULL;
    }
    if (!f)
        rb_lost_edge(me);
    return me->fences = f;
}

void rb_fences_free(struct rb_self *me, struct rb_self *t)
{
    struct rb_fences *f = t->fences;

    if (!f)
        return;
    t->fences = NULL;
    rb_sync_clear(me, &f->released);
    rb_sync_clear(me, &f->collected);
    rb_fiber_free(me, f->shadow);
    rb_arena_free(&rb_process.arena, f, sizeof(*f));
}

// Collects at a relaxed load of an object that others release to. The object's lock is held.
static void collect_clock(struct rb_self *me, struct rb_object *o)
{
    struct rb_fences *f = fences_of(me);

    if (!f)
        return;
    rb_sync_acquire(f->shadow, &o->main);
    rb_known_write(f->shadow, rb_known_of(f->shadow, o->address), o->address, o, true, false);
    rb_record_sync(f->shadow, RB_LOAD, o->address);
    f->has_collected = true;
}

// Hands out at a relaxed store or read-modify-write after a release fence. The object's lock is held.
static void hand_out_clock(struct rb_self *me, struct rb_object *o)
{
    struct rb_fences *f = me->fences;

    rb_sync_acquire(f->shadow, &f->released);
    rb_record_sync(f->shadow, RB_LOAD, (uintptr_t)&f->released);
    rb_sync_release_join(f->shadow, &o->main);
    rb_record_sync(f->shadow, RB_RMW_REL, o->address);
}

static inline bool fence_to_hand_out(const struct rb_self *me)
{
    return RB_UNLIKELY(rb_fences_on) && me->fences && me->fences->has_released;
}

// Returns true if the thread's last release fence has released its present clock (as rb_known_covered).
static bool is_released(const struct rb_self *me, const struct rb_fences *f)
{
    return rb_process.quick && f->has_released && f->clock == me->hb.version && f->epoch == me->hb.epoch &&
           !me->hb.sampled && !me->unseen.pending;
}

static RB_NOINLINE void run_fence(int order)
{
    struct rb_self *me = rb_enter();

    if (!me)
        return;
    if (!rb_fences_on) {
        rb_store_release(&rb_fences_on, true);
        rb_lost_edge(me);
    }
    if (rb_sync_passed_over(me, 0)) {
        rb_leave(me);
        return;
    }
    struct rb_fences *f = fences_of(me);
    if (f && is_acquire(order) && f->has_collected) {
        rb_sync_release_store(f->shadow, &f->collected);
        rb_record_sync(f->shadow, RB_STORE, (uintptr_t)&f->collected);
        rb_sync_acquire(me, &f->collected);
        rb_record_sync(me, RB_LOAD, (uintptr_t)&f->collected);
        f->has_collected = false;
    }
    if (f && is_release(order) && is_released(me, f)) {
        rb_known_skip_release(me);
    } else if (f && is_release(order)) {
        rb_sync_release_store(me, &f->released);
        rb_record_sync(me, RB_STORE, (uintptr_t)&f->released);
        f->has_released = true;
        f->clock = me->hb.version;
        f->epoch = me->hb.epoch;
    }
    rb_leave(me);
}

RB_EXPORT void __tsan_atomic_thread_fence(int order);
RB_EXPORT void __tsan_atomic_thread_fence(int order)
{
    rb_fence_seq_cst();
    if (plain_order(order) != __ATOMIC_RELAXED && !rb_is_paused())
        run_fence(plain_order(order));
}

RB_EXPORT void __tsan_atomic_signal_fence(int order);
RB_EXPORT void __tsan_atomic_signal_fence(int order)
{
    (void)order;
    rb_fence_signal();
}

// ---- 16 bytes: cmpxchg16b alone ------------------------------------------------------------------------

static inline a128 raw_cas128(volatile a128 *a, a128 expected, a128 value)
{
    return __sync_val_compare_and_swap((a128 *)a, expected, value);
}

// ---- a step on an object -------------------------------------------------------------------------------

// The state of a hook between taking the object's lock and releasing it. Without a thread's
// state (runtime off) or memory, `me` or `object` is NULL: then the operation orders nothing.
struct step {
    struct rb_self *me;
    struct rb_object *object;
    bool passed_over; // between windows (sampling_rpt.c), or tracking is paused
    bool acquired;    // it has acquired already
    bool heard;       // nothing to acquire
    bool covered;     // nothing to release
};

static RB_NOINLINE struct step step_begin(const volatile void *a, bool make)
{
    struct step s = {rb_enter(), NULL, false, false, false, false};

    if (!s.me)
        return s;
    const bool ignored = s.me->ignore_sync || rb_is_of_mutex(s.me, (uintptr_t)a);
    s.passed_over = !ignored && rb_sync_passed_over(s.me, 0);
    rb_sync_begin(s.me);
    if (!ignored && !s.passed_over)
        s.object = make ? rb_object_get(s.me, (uintptr_t)a) : rb_object_find(s.me, (uintptr_t)a);
    rb_step_begins(s.me, (uintptr_t)a, s.object);
    return s;
}

static RB_NOINLINE void step_end(struct step s)
{
    if (!s.me)
        return;
    rb_step_ends(s.me);
    if (s.object)
        rb_object_unlock(s.object);
    rb_sync_end(s.me);
    rb_races_report(s.me);
    rb_leave(s.me);
}

// ---- without the lock ----------------------------------------------------------------------------------
// An operation with nothing to acquire and nothing to release takes no lock (sync_cache.h). Threads that
// wait for an atomic to change load it again and again. If such a load held the object's lock for half of
// its time, a preempted thread would mostly hold the lock.
//
// Why this is sound: an operation that releases something new changes the version before it changes the
// value. So a load that finds the same version before and after has read no value that brings a new clock.
// A release that is covered only needs the object to keep its clock. An object has `joins` set from the
// first covered release on, and then its clock never shrinks within its life. The access must not be a
// sampled one, which would have to be published.

RB_INLINE struct rb_known *quick_begin(const volatile void *a, bool gets, bool gives)
{
    struct rb_self *me = rb_self_tls;

    if (RB_UNLIKELY(!me || me->busy || (me->ignore_sync | me->inside_mutex) || !rb_process.quick ||
                    (gives && rb_fences_on)))
        return NULL;
    struct rb_known *k = rb_known_of(me, (uintptr_t)a);
    me->busy = 1; // a handler between here and the end might release
    __asm__ volatile("" ::: "memory");
    if (RB_LIKELY(k->address == (uintptr_t)a && (!gets || rb_object_version(k->object) == k->version) &&
                  (!gives || (is_passed() && k->object->joins && rb_known_covered(me, k)))))
        return k;
    rb_leave(me);
    return NULL;
}

// Ends the operation. Returns true if there is still nothing new to
// acquire; else the caller acquires it now.
RB_INLINE bool quick_end(const struct rb_known *k, const volatile void *a, bool gets, bool gives)
{
    struct rb_self *me = rb_self_tls;
    const bool still = !gets || rb_known_heard(k, (uintptr_t)a);

    me->count.acquires += gets && still;
    me->count.acquires_skipped += gets && still;
    me->count.releases += gives;
    me->count.releases_skipped += gives;
    rb_known_count(me, me->count.acquires + me->count.releases);
    rb_leave(me);
    return still;
}

// For a relaxed load: returns the thread's cache entry if its shadow has acquired all
// of the object's clock, else NULL. Asked again after the load. No guard: a handler
// in between can only make it acquire more.
RB_INLINE const struct rb_known *find_collected(const volatile void *a)
{
    const struct rb_self *me = rb_self_tls;

    if (RB_UNLIKELY(!me || me->busy || (me->ignore_sync | me->inside_mutex) || !rb_process.quick ||
                    !me->fences))
        return NULL;
    const struct rb_known *k = rb_known_of(me->fences->shadow, (uintptr_t)a);
    return rb_known_heard(k, (uintptr_t)a) ? k : NULL;
}

// After a load: returns true if no thread had released to the object, so that there is nothing to acquire,
// at once or by a fence. A release makes the object before it changes the value.
static RB_NOINLINE bool has_no_release(const volatile void *a)
{
    struct rb_self *me = rb_process.quick && rb_object_absent((uintptr_t)a) ? rb_enter() : NULL;

    if (!me)
        return false;
    rb_known_skip_acquire(me);
    rb_leave(me);
    return true;
}

static RB_NOINLINE void hear_object(const volatile void *a)
{
    struct rb_self *me = rb_enter();
    struct rb_object *o;

    if (!me)
        return;
    if ((o = rb_object_find(me, (uintptr_t)a)) != NULL) {
        rb_sync_acquire(me, &o->main);
        rb_known_write(me, rb_known_of(me, (uintptr_t)a), (uintptr_t)a, o, true, false);
        rb_object_unlock(o);
    }
    rb_leave(me);
}

// Loses an edge after a skipped read-modify-write. It may have read a value released after the pause had
// ended. Or a fence of this thread may need its clock, if the program's first fence was made meanwhile.
static RB_NOINLINE void lose_edge(int order)
{
    struct rb_self *me = order != __ATOMIC_RELAXED || rb_fences_on ? rb_enter() : NULL;

    if (!me)
        return;
    rb_lost_edge(me);
    rb_leave(me);
}

// ---- inside a step -------------------------------------------------------------------------------------

// Returns true if the object holds the thread's whole clock. It must keep that: the
// next time this is checked without its lock.
static bool is_covered(struct step *s, const struct rb_known *k, const volatile void *a)
{
    const bool covered = rb_process.quick && !rb_process.take_all && k->address == (uintptr_t)a &&
                         k->object == s->object && rb_known_covered(s->me, k);

    s->object->joins |= covered;
    return covered;
}

// Prepares a read-modify-write: acquires if that is certain to be right, and changes the version unless
// there is nothing to release. `fails`: a failure may acquire less than the order says.
static RB_NOINLINE void step_prepare(struct step *s, const volatile void *a, int order, bool fails)
{
    if (!s->object)
        return;
    struct rb_known *k = rb_known_of(s->me, (uintptr_t)a);
    s->heard = k->object == s->object && rb_known_heard(k, (uintptr_t)a);
    if (is_acquire(order) && !fails) {
        rb_sync_acquire(s->me, &s->object->main);
        s->acquired = true;
    }
    if (fails && !s->heard && rb_process.quick)
        s->heard = rb_process.ops->knows(&s->me->hb, &s->object->main);
    s->covered = is_covered(s, k, a) && (!fails || s->heard) && !rb_fences_on && is_passed();
    if (!s->covered)
        rb_object_changes(s->object);
}

// The cost of the access is accounted apart.
static void step_access(struct rb_self *me, const volatile void *a, size_t size, unsigned how, uintptr_t pc)
{
    rb_sync_end(me);
    rb_access_inside(me, (uintptr_t)a, size, RB_HOW_ATOMIC | how, pc);
    rb_sync_begin(me);
}

// Performs the acquire, the access and the release of the order.
static RB_NOINLINE void step_order(struct step s, const volatile void *a, size_t size, bool wrote, int order,
                                   uintptr_t pc)
{
    const bool gets = is_acquire(order), gives = wrote && is_release(order);

    if (!s.me)
        return;
    // The operation may have read a value released in a window that began after the check.
    if (RB_UNLIKELY(s.passed_over) && (gets || rb_fences_on) &&
        (rb_process.windows ? !rb_sampling_quiet() : !rb_is_paused()))
        rb_lost_edge(s.me);
    if (s.object && gets && !s.acquired)
        rb_sync_acquire(s.me, &s.object->main);
    if (!rb_passes_odd())
        step_access(s.me, a, size, wrote ? RB_HOW_WRITE : RB_HOW_READ, pc);
    if (!s.object)
        return;
    if (gives && !s.covered) {
        rb_sync_release_join(s.me, &s.object->main);
        s.object->owner = RB_NO_SLOT; // several may have released: it has no owner
    } else if (wrote && fence_to_hand_out(s.me)) {
        hand_out_clock(s.me, s.object);
    }
    if (!gets && RB_UNLIKELY(rb_fences_on))
        collect_clock(s.me, s.object);
    if (gets || gives)
        rb_known_write(s.me, rb_known_of(s.me, (uintptr_t)a), (uintptr_t)a, s.object, gets || s.heard, gives);
    if (gets || gives)
        rb_record_sync(s.me, gets && gives ? RB_RMW : gives ? RB_RMW_REL : RB_LOAD, (uintptr_t)a);
}

// A store replaces the object's clock. If the thread knows all of that clock, nothing is lost. Else the
// object begins another life, or the store joins if other threads rely on the clock.
static void release_store(struct step s)
{
    struct rb_object *o = s.object;
    const bool knows = rb_process.quick && rb_process.ops->knows(&s.me->hb, &o->main);

    if (knows || o->joins)
        rb_object_changes(o);
    else
        rb_object_loses(o);
    if (knows || !o->joins)
        rb_sync_release_store(s.me, &o->main);
    else
        rb_sync_release_join(s.me, &o->main);
    o->owner = s.me->hb.slot;
}

static RB_NOINLINE void step_store(struct step s, const volatile void *a, size_t size, int order,
                                   uintptr_t pc)
{
    if (!s.me)
        return;
    if (!rb_passes_odd())
        step_access(s.me, a, size, RB_HOW_WRITE, pc);
    if (!s.object)
        return;
    s.object->joins |= rb_load_relaxed(&rb_stores_join);
    if (is_release(order)) {
        struct rb_known *k = rb_known_of(s.me, (uintptr_t)a);
        const bool heard = k->object == s.object && rb_known_heard(k, (uintptr_t)a);
        is_covered(&s, k, a);
        release_store(s);
        // if it had acquired everything, it still has: the new clock is its own
        rb_known_write(s.me, k, (uintptr_t)a, s.object, heard, true);
        rb_record_sync(s.me, RB_STORE, (uintptr_t)a);
        return;
    }
    // Another thread's relaxed store ends a release sequence; in C11 the owner's continues it.
    rb_object_changes(s.object);
    if (s.object->owner != s.me->hb.slot && s.object->owner != RB_NO_SLOT && !s.object->joins) {
        rb_object_loses(s.object);
        rb_sync_clear(s.me, &s.object->main);
        rb_record_gone(s.me, (uintptr_t)a);
    }
    if (fence_to_hand_out(s.me))
        hand_out_clock(s.me, s.object);
}

// Returns true if relaxed operations have to be steps too.
static inline bool has_fences(void)
{
    return RB_UNLIKELY(rb_load_relaxed(&rb_fences_on));
}

// Relaxed is 0, so several orders together are relaxed if all are.
static inline bool orders_nothing(int order)
{
    return order == __ATOMIC_RELAXED && !has_fences();
}

// ---- the operations ------------------------------------------------------------------------------------

// Functions apart, as for locks (intercept.c): while tracking is paused no
// register is saved for work that is not done.
#define RB_LOAD_OF(bits, RAW_LOAD)                                                                     \
    static RB_NOINLINE a##bits followed_load##bits(const volatile a##bits *a, int order, uintptr_t pc) \
    {                                                                                                  \
        a##bits value = RAW_LOAD(a);                                                                   \
        order = plain_order(order);                                                                    \
        if (orders_nothing(order)) {                                                                   \
            rb_access_odd(a, sizeof(*a), RB_HOW_ATOMIC, pc);                                           \
            return value;                                                                              \
        }                                                                                              \
        const struct rb_known *c = order == __ATOMIC_RELAXED ? find_collected(a) : NULL;               \
        if (c) {                                                                                       \
            value = RAW_LOAD(a);                                                                       \
            if (rb_known_heard(c, (uintptr_t)a)) {                                                     \
                rb_access_odd(a, sizeof(*a), RB_HOW_ATOMIC, pc);                                       \
                return value;                                                                          \
            }                                                                                          \
        }                                                                                              \
        const struct rb_known *k = is_acquire(order) ? quick_begin(a, true, false) : NULL;             \
        if (k) {                                                                                       \
            value = RAW_LOAD(a);                                                                       \
            if (quick_end(k, a, true, false)) {                                                        \
                rb_access_odd(a, sizeof(*a), RB_HOW_ATOMIC, pc);                                       \
                return value;                                                                          \
            }                                                                                          \
        }                                                                                              \
        if (!k && has_no_release(a)) {                                                                 \
            rb_access_odd(a, sizeof(*a), RB_HOW_ATOMIC, pc);                                           \
            return value;                                                                              \
        }                                                                                              \
        struct step s = step_begin(a, false);                                                          \
        if (s.object)                                                                                  \
            value = RAW_LOAD(a); /* under the lock: value and clock of the same release */             \
        step_order(s, a, sizeof(*a), false, order, pc);                                                \
        step_end(s);                                                                                   \
        return value;                                                                                  \
    }                                                                                                  \
    RB_EXPORT a##bits __tsan_atomic##bits##_load(const volatile a##bits *a, int order);                \
    RB_EXPORT a##bits __tsan_atomic##bits##_load(const volatile a##bits *a, int order)                 \
    {                                                                                                  \
        const a##bits value = RAW_LOAD(a);                                                             \
        return rb_is_paused() ? value : followed_load##bits(a, order, RB_PC);                          \
    }

#define RB_STORE_OF(bits, RAW_STORE)                                                            \
    static RB_NOINLINE void followed_store##bits(volatile a##bits *a, a##bits value, int order, \
                                                 uintptr_t pc)                                  \
    {                                                                                           \
        if (!is_release(order) && !has_fences()) {                                              \
            rb_access_odd(a, sizeof(*a), RB_HOW_ATOMIC | RB_HOW_WRITE, pc);                     \
            RAW_STORE(a, value, order);                                                         \
            return;                                                                             \
        }                                                                                       \
        const struct rb_known *k = is_release(order) ? quick_begin(a, false, true) : NULL;      \
        if (k) {                                                                                \
            RAW_STORE(a, value, order);                                                         \
            rb_passes_odd();                                                                    \
            quick_end(k, a, false, true);                                                       \
            return;                                                                             \
        }                                                                                       \
        struct step s = step_begin(a, true);                                                    \
        step_store(s, a, sizeof(*a), order, pc);                                                \
        RAW_STORE(a, value, order);                                                             \
        step_end(s);                                                                            \
    }                                                                                           \
    RB_EXPORT void __tsan_atomic##bits##_store(volatile a##bits *a, a##bits value, int order);  \
    RB_EXPORT void __tsan_atomic##bits##_store(volatile a##bits *a, a##bits value, int order)   \
    {                                                                                           \
        order = plain_order(order);                                                             \
        if (rb_is_paused())                                                                     \
            RAW_STORE(a, value, order);                                                         \
        else                                                                                    \
            followed_store##bits(a, value, order, RB_PC);                                       \
    }

#define RB_RMW_OF(bits, name, RAW)                                                                  \
    static RB_NOINLINE a##bits followed_##name##bits(volatile a##bits *a, a##bits value, int order, \
                                                     uintptr_t pc)                                  \
    {                                                                                               \
        a##bits old;                                                                                \
        order = plain_order(order);                                                                 \
        if (orders_nothing(order)) {                                                                \
            rb_access_odd(a, sizeof(*a), RB_HOW_ATOMIC | RB_HOW_WRITE, pc);                         \
            RAW(old, a, value);                                                                     \
            if (has_fences())                                                                       \
                lose_edge(order);                                                                   \
            return old;                                                                             \
        }                                                                                           \
        const bool gets = is_acquire(order), gives = is_release(order);                             \
        const struct rb_known *k = quick_begin(a, gets, true);                                      \
        if (k) {                                                                                    \
            RAW(old, a, value);                                                                     \
            rb_passes_odd();                                                                        \
            if (!quick_end(k, a, gets, gives))                                                      \
                hear_object(a);                                                                     \
            if (has_fences())                                                                       \
                lose_edge(order);                                                                   \
            return old;                                                                             \
        }                                                                                           \
        struct step s = step_begin(a, true);                                                        \
        step_prepare(&s, a, order, false);                                                          \
        RAW(old, a, value);                                                                         \
        step_order(s, a, sizeof(*a), true, order, pc);                                              \
        step_end(s);                                                                                \
        return old;                                                                                 \
    }                                                                                               \
    RB_EXPORT a##bits __tsan_atomic##bits##_##name(volatile a##bits *a, a##bits value, int order);  \
    RB_EXPORT a##bits __tsan_atomic##bits##_##name(volatile a##bits *a, a##bits value, int order)   \
    {                                                                                               \
        a##bits old;                                                                                \
        if (!rb_is_paused())                                                                        \
            return followed_##name##bits(a, value, order, RB_PC);                                   \
        RAW(old, a, value);                                                                         \
        if (RB_UNLIKELY(!rb_is_paused()))                                                           \
            lose_edge(plain_order(order));                                                          \
        return old;                                                                                 \
    }

// The three shapes of compare-exchange share one body. A failed one only reads, under its own order. So it
// is a load, and only a load if a look shows that it fails. Threads that wait for a lock make many of them.
#define RB_CAS_OF(bits, RAW_LOAD, RAW_CAS)                                                                 \
    static RB_NOINLINE bool followed_cas##bits(volatile a##bits *a, a##bits *expected, a##bits value,      \
                                               int order, int failed, uintptr_t pc)                        \
    {                                                                                                      \
        const a##bits wanted = *expected;                                                                  \
        order = plain_order(order);                                                                        \
        failed = plain_order(failed);                                                                      \
        const bool quiet = orders_nothing(order | failed);                                                 \
        if (!quiet && RAW_LOAD(a) != wanted) {                                                             \
            const a##bits seen = followed_load##bits(a, failed, pc);                                       \
            if (seen != wanted) {                                                                          \
                *expected = seen;                                                                          \
                return false;                                                                              \
            }                                                                                              \
        }                                                                                                  \
        struct step s = {NULL, NULL, false, false, false, false};                                          \
        const struct rb_known *k =                                                                         \
            quiet ? NULL : quick_begin(a, is_acquire(order) || is_acquire(failed), true);                  \
        if (k) {                                                                                           \
            const a##bits found = RAW_CAS(a, wanted, value);                                               \
            const int did = found == wanted ? order : failed;                                              \
            rb_passes_odd();                                                                               \
            if (!quick_end(k, a, is_acquire(did), is_release(did)))                                        \
                hear_object(a);                                                                            \
            if (has_fences())                                                                              \
                lose_edge(order | failed);                                                                 \
            *expected = found;                                                                             \
            return found == wanted;                                                                        \
        }                                                                                                  \
        if (!quiet) {                                                                                      \
            s = step_begin(a, true);                                                                       \
            step_prepare(&s, a, order, !is_acquire(failed));                                               \
        }                                                                                                  \
        const a##bits old = RAW_CAS(a, wanted, value);                                                     \
        const bool done = old == wanted;                                                                   \
        if (quiet && has_fences())                                                                         \
            lose_edge(order | failed);                                                                     \
        if (quiet)                                                                                         \
            rb_access_odd(a, sizeof(*a), RB_HOW_ATOMIC | (done ? RB_HOW_WRITE : RB_HOW_READ), pc);         \
        else                                                                                               \
            step_order(s, a, sizeof(*a), done, done ? order : failed, pc);                                 \
        step_end(s);                                                                                       \
        *expected = old;                                                                                   \
        return done;                                                                                       \
    }                                                                                                      \
    RB_INLINE bool cas##bits(volatile a##bits *a, a##bits *expected, a##bits value, int order, int failed, \
                             uintptr_t pc)                                                                 \
    {                                                                                                      \
        if (!rb_is_paused())                                                                               \
            return followed_cas##bits(a, expected, value, order, failed, pc);                              \
        const a##bits wanted = *expected, found = RAW_CAS(a, wanted, value);                               \
        if (RB_UNLIKELY(!rb_is_paused()))                                                                  \
            lose_edge(plain_order(order) | plain_order(failed));                                           \
        *expected = found;                                                                                 \
        return found == wanted;                                                                            \
    }                                                                                                      \
    RB_EXPORT int __tsan_atomic##bits##_compare_exchange_strong(volatile a##bits *a, a##bits *expected,    \
                                                                a##bits value, int order, int failed);     \
    RB_EXPORT int __tsan_atomic##bits##_compare_exchange_strong(volatile a##bits *a, a##bits *expected,    \
                                                                a##bits value, int order, int failed)      \
    {                                                                                                      \
        return cas##bits(a, expected, value, order, failed, RB_PC);                                        \
    }                                                                                                      \
    RB_EXPORT int __tsan_atomic##bits##_compare_exchange_weak(volatile a##bits *a, a##bits *expected,      \
                                                              a##bits value, int order, int failed);       \
    RB_EXPORT int __tsan_atomic##bits##_compare_exchange_weak(volatile a##bits *a, a##bits *expected,      \
                                                              a##bits value, int order, int failed)        \
    {                                                                                                      \
        return cas##bits(a, expected, value, order, failed, RB_PC);                                        \
    }                                                                                                      \
    RB_EXPORT a##bits __tsan_atomic##bits##_compare_exchange_val(volatile a##bits *a, a##bits expected,    \
                                                                 a##bits value, int order, int failed);    \
    RB_EXPORT a##bits __tsan_atomic##bits##_compare_exchange_val(volatile a##bits *a, a##bits expected,    \
                                                                 a##bits value, int order, int failed)     \
    {                                                                                                      \
        cas##bits(a, &expected, value, order, failed, RB_PC);                                              \
        return expected;                                                                                   \
    }

#define RB_RAW_LOAD(a) rb_load_seq_cst(a)
#define RB_RAW_STORE(a, v, order) \
    ((order) < __ATOMIC_ACQ_REL ? rb_store_release(a, v) : rb_store_seq_cst(a, v))
#define RB_RAW_exchange(o, a, v) o = rb_exchange_seq_cst(a, v)
#define RB_RAW_add(o, a, v)      o = rb_fetch_add_seq_cst(a, v)
#define RB_RAW_sub(o, a, v)      o = rb_fetch_sub_seq_cst(a, v)
#define RB_RAW_and(o, a, v)      o = rb_fetch_and_seq_cst(a, v)
#define RB_RAW_or(o, a, v)       o = rb_fetch_or_seq_cst(a, v)
#define RB_RAW_xor(o, a, v)      o = rb_fetch_xor_seq_cst(a, v)
#define RB_RAW_nand(o, a, v)     o = rb_fetch_nand_seq_cst(a, v)
#define RB_RAW_CAS(a, e, v)      __sync_val_compare_and_swap(a, e, v)

#define RB_ATOMIC_OF(bits)                     \
    RB_LOAD_OF(bits, RB_RAW_LOAD)              \
    RB_STORE_OF(bits, RB_RAW_STORE)            \
    RB_RMW_OF(bits, exchange, RB_RAW_exchange) \
    RB_RMW_OF(bits, fetch_add, RB_RAW_add)     \
    RB_RMW_OF(bits, fetch_sub, RB_RAW_sub)     \
    RB_RMW_OF(bits, fetch_and, RB_RAW_and)     \
    RB_RMW_OF(bits, fetch_or, RB_RAW_or)       \
    RB_RMW_OF(bits, fetch_xor, RB_RAW_xor)     \
    RB_RMW_OF(bits, fetch_nand, RB_RAW_nand)   \
    RB_CAS_OF(bits, RB_RAW_LOAD, RB_RAW_CAS)
RB_ATOMIC_OF(8)
RB_ATOMIC_OF(16)
RB_ATOMIC_OF(32)
RB_ATOMIC_OF(64)

#define RB_LOAD128(a) raw_cas128((volatile a128 *)(uintptr_t)(a), 0, 0)
#define RB_CHANGE128(o, a, result)                  \
    do {                                            \
        o = *a;                                     \
        const a128 seen = raw_cas128(a, o, result); \
        if (seen == o)                              \
            break;                                  \
    } while (1)
#define RB_128_exchange(o, a, v) RB_CHANGE128(o, a, v)
#define RB_128_add(o, a, v)      RB_CHANGE128(o, a, o + v)
#define RB_128_sub(o, a, v)      RB_CHANGE128(o, a, o - v)
#define RB_128_and(o, a, v)      RB_CHANGE128(o, a, o &v)
#define RB_128_or(o, a, v)       RB_CHANGE128(o, a, o | v)
#define RB_128_xor(o, a, v)      RB_CHANGE128(o, a, o ^ v)
#define RB_128_nand(o, a, v)     RB_CHANGE128(o, a, ~(o & v))
RB_LOAD_OF(128, RB_LOAD128)
RB_RMW_OF(128, exchange, RB_128_exchange)
RB_RMW_OF(128, fetch_add, RB_128_add)
RB_RMW_OF(128, fetch_sub, RB_128_sub)
RB_RMW_OF(128, fetch_and, RB_128_and)
RB_RMW_OF(128, fetch_or, RB_128_or)
RB_RMW_OF(128, fetch_xor, RB_128_xor)
RB_RMW_OF(128, fetch_nand, RB_128_nand)
RB_CAS_OF(128, RB_LOAD128, raw_cas128)

static inline void store_128(volatile a128 *a, a128 value)
{
    a128 old;

    RB_CHANGE128(old, a, value);
}
#define RB_STORE128(a, v, order) store_128(a, v)
RB_STORE_OF(128, RB_STORE128)
