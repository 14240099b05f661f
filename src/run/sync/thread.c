// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads (thread.h): slots, states, handles and notes, all under one lock.
#include "run/sync/thread.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/pages.h"
#include "inproc/clocks.h"
#include "inproc/tool.h"
#include "run/access/access.h"
#include "run/access/history.h"
#include "run/core/footprint.h"
#include "run/core/upcalls.h"
#include "run/record/record.h"
#include "run/sync/sync.h"

#define SLOTS   65535u
#define QUEUED  48u
#define HANDLES 1024u
#define NOTES   16384u

enum state { FREE, ALIVE, FIBER };

#define LAST_VERSION (UINT64_C(1) << 62) // after some two million users a slot is not used again

// A slot's user, and the values its next user begins with.
struct slot {
    struct rb_self *user; // NULL: it is unused
    uint32_t epoch;
    uint32_t next; // in the queue of unused slots
    uint64_t version;
};

// All below under `lock`.
static rb_spin lock;
static struct slot *slots;
static uint32_t slot_count, queued, queue_first, queue_last;
static struct rb_arena selves; // not part of memory=: the stated amount for each thread
static struct rb_self *unused;
static struct rb_self *handles[HANDLES];
static struct rb_thread_note *notes;
static uint32_t next_id, alive, most_alive;
static uint32_t ends; // of threads; a futex
static bool awaited;  // a thread waits there
static struct rb_totals ended;

RB_TLS struct rb_self *rb_self_tls;
RB_TLS int64_t rb_skip;
RB_TLS int64_t rb_unpatched_skip;
static RB_TLS bool gone; // this thread has ended for the runtime,
static RB_TLS bool late; // but may run destructors of other keys
static pthread_key_t end_key;
static bool have_key;

static void end_on_last_lap(void *laps);

int rb_threads_init(void)
{
    const size_t bytes = SLOTS * sizeof(*slots) + NOTES * sizeof(*notes);
    char *map;

    rb_arena_init(&selves, (size_t)4 << 30);
    map = rb_pages_map(bytes);
    if (!map)
        return -ENOMEM;
    slots = (struct slot *)(void *)map;
    notes = (struct rb_thread_note *)(void *)(map + SLOTS * sizeof(*slots));
    rb_footprint_map(map, bytes);
    rb_footprint_arena(&selves);
    rb_footprint_arena(&rb_process.arena);
    rb_footprint_arena(&rb_host.kept);
    have_key = pthread_key_create(&end_key, end_on_last_lap) == 0;
    return 0;
}

// Drops all states. The child of fork has one thread, which gets a new state at its next step; all others
// are gone.
void rb_threads_reset_after_fork(void)
{
    if (!slots)
        return;
    lock = 0;
    madvise(slots, SLOTS * sizeof(*slots) + NOTES * sizeof(*notes), MADV_DONTNEED);
    slot_count = queued = 0;
    rb_arena_destroy(&selves);
    unused = NULL;
    for (unsigned i = 0; i < HANDLES; i++)
        handles[i] = NULL;
    next_id = alive = most_alive = 0;
    ended = (struct rb_totals){0};
    rb_self_tls = NULL;
    rb_skip = 0;
}

// Returns the bytes for clocks that n threads at once add to memory=. A clock has an entry for each slot. A
// thread has its own clock, of which its end, its beginning and objects may hold copies; sizes are rounded
// up by at most a quarter.
static size_t count_clock_bytes(size_t n)
{
    const size_t entry = rb_process.ops == &rb_su ? 48 : rb_process.ops == &rb_so ? 32 : 16;

    return n * (4096 + n * entry);
}

static uint32_t take_slot(void)
{
    if (queued > QUEUED || (queued && slot_count == SLOTS)) {
        const uint32_t s = queue_first;
        queue_first = slots[s].next;
        queued--;
        return s;
    }
    if (slot_count == SLOTS)
        return RB_NO_SLOT;
    const size_t more = count_clock_bytes(slot_count + 1) - count_clock_bytes(slot_count);
    rb_store_relaxed(&rb_process.arena.limit, rb_process.arena.limit + more);
    rb_store_relaxed(&rb_process.width, slot_count + 1);
    return slot_count++;
}

static void queue_slot(uint32_t s)
{
    if (queued++)
        slots[queue_last].next = s;
    else
        queue_first = s;
    queue_last = s;
}

static bool counts_changes(void)
{
    return rb_process.ops == &rb_su;
}

// Makes the thread's first clocks. Objects may have taken all memory for clocks, and their free blocks may
// have other sizes; then the clocks come from `selves`. They go to the shared arena with the thread, so the
// next thread finds them there.
static int start_clocks(struct rb_self *t)
{
    struct rb_arena *const from[] = {t->engine.arena, &selves};
    int r = -ENOMEM;

    for (unsigned i = 0; i < RB_LENGTH(from) && r; i++) {
        struct rb_engine engine = t->engine;
        engine.arena = from[i];
        r = rb_process.ops->thread_start(&engine, &t->hb);
        if (r) { // half of it may exist
            rb_process.ops->thread_stop(&engine, &t->hb);
            t->hb = (struct rb_thread){.slot = t->hb.slot};
        }
    }
    return r;
}

// Returns room for the lines that a thread remembers, that of the state's last thread if it had some. It is
// worth its memory where every access is taken.
static struct rb_recent *make_recent_lines(struct rb_recent *last)
{
    const size_t bytes = RB_RECENT * sizeof(*last);

    if (!last)
        return rb_process.take_all ? rb_arena_zalloc(&selves, bytes) : NULL;
    __builtin_memset(last, 0, bytes);
    return last;
}

// Makes a state with a slot, known to the engine; NULL if either cannot be had. With the lock held.
static struct rb_self *make_state(enum state state, uint32_t id)
{
    const uint32_t s = take_slot();
    struct rb_self *t = s == RB_NO_SLOT ? NULL : unused;
    const bool from_before = t != NULL;

    if (s == RB_NO_SLOT)
        return NULL;
    if (t)
        unused = t->next;
    else
        t = rb_arena_alloc(&selves, sizeof(*t));
    if (!t) {
        queue_slot(s);
        return NULL;
    }
    struct rb_recent *const recent = make_recent_lines(from_before ? t->recent : NULL);
    __builtin_memset(t, 0, sizeof(*t));
    t->recent = recent;
    t->hb.slot = s;
    t->engine = (struct rb_engine){rb_process.ops, &rb_process.arena, slot_count, false};
    if (start_clocks(t)) {
        queue_slot(s);
        t->next = unused;
        unused = t;
        return NULL;
    }
    t->hb.epoch = slots[s].epoch + 1;
    // acquires may bring back epochs of the slot's earlier user: it does not keep those
    t->hb.published = slots[s].epoch;
    t->hb.version = slots[s].version;
    if (counts_changes())
        t->hb.fresh->changes[s] = slots[s].version;
    t->id = id;
    t->state = state;
    slots[s].user = t;
    return t;
}

static void add_counts(struct rb_totals *to, const struct rb_self *t)
{
#define RB_COUNTER(name, text) to->rt.name += t->count.name;
#include "run/core/counters.def"
#undef RB_COUNTER
#define RB_COUNTER(name, text) to->engine.name += t->hb.count.name;
#include "engine/counters.def"
#undef RB_COUNTER
}

static void forget_handle(struct rb_self *t)
{
    if (!t->handle_known)
        return;
    for (struct rb_self **link = &handles[((uintptr_t)t->handle >> 6) % HANDLES]; *link;
         link = &(*link)->by_handle)
        if (*link == t) {
            *link = t->by_handle;
            break;
        }
    t->handle_known = false;
}

// Gives up a state and its slot. `me` is the calling thread: the engine frees into its arena. Lock held.
static void free_state(struct rb_self *me, struct rb_self *t)
{
    struct slot *s = &slots[t->hb.slot];

    forget_handle(t);
    add_counts(&ended, t);
    s->epoch = t->hb.epoch;
    s->version = (counts_changes() ? t->hb.fresh->changes[t->hb.slot] : t->hb.version) + RB_VERSIONS;
    rb_sync_clear(me, &t->begun);
    rb_sync_clear(me, &t->ended);
    rb_sampling_free(t);
    rb_process.ops->thread_stop(&me->engine, &t->hb);
    s->user = NULL;
    if (s->version < LAST_VERSION)
        queue_slot(t->hb.slot);
    t->state = FREE;
    t->next = unused;
    unused = t;
}

static void write_note(const struct rb_self *t, uint32_t parent, rb_stack created)
{
    struct rb_thread_note *n = &notes[t->id % NOTES];

    *n = (struct rb_thread_note){.id = t->id, .parent = parent, .created = created, .running = true};
}

static struct rb_self *new_thread(uint32_t parent, rb_stack created)
{
    rb_spin_lock(&lock);
    struct rb_self *t = make_state(ALIVE, next_id);
    if (t) {
        next_id = next_id + 1 == RB_NO_THREAD ? 1 : next_id + 1; // that number means no thread
        if (++alive > most_alive)
            most_alive = alive;
        write_note(t, parent, created);
    }
    rb_spin_unlock(&lock);
    return t;
}

struct rb_self *rb_thread_new(struct rb_self *creator, rb_stack created)
{
    struct rb_self *t = new_thread(creator->id, created);

    rb_sampling_spawn(creator);
    if (t) {
        rb_sync_release_store(creator, &t->begun);
        rb_record_sync(creator, RB_FORK, t->id);
        t->refs = 2; // the thread itself, and the creator until it has noted the handle
    }
    return t;
}

void rb_thread_discard(struct rb_self *me, struct rb_self *child)
{
    rb_spin_lock(&lock);
    notes[child->id % NOTES].id = RB_NO_THREAD;
    alive--;
    free_state(me, child);
    rb_spin_unlock(&lock);
}

static void set_handle(struct rb_self *t, pthread_t handle)
{
    struct rb_self **chain = &handles[((uintptr_t)handle >> 6) % HANDLES];

    if (t->handle_known)
        return;
    t->handle = handle;
    t->handle_known = true;
    t->by_handle = *chain;
    *chain = t;
}

// Finds the bounds of this thread's stack. libc knows them, but uses the heap to tell. The main thread's
// stack ends with the program's name, which the kernel puts at its top. A thread's control block is at the
// top of its stack, static TLS below it. Of other threads only the upper bound is known.
static void find_stack(struct rb_self *me)
{
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0), page = 4096;
    struct rlimit limit;

    if (me->walk.stack_lo)
        return;
    if (me->os_id == rb_process.pid) {
        const char *name = (const char *)getauxval(AT_EXECFN);
        if (!name || (uintptr_t)name < here)
            return;
        while (*name)
            name++;
        me->walk.stack_hi = ((uintptr_t)name + page) & ~(page - 1);
        if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur > ((size_t)1 << 30))
            limit.rlim_cur = (size_t)8 << 20;
        me->walk.stack_lo = me->walk.stack_hi - limit.rlim_cur;
    } else {
        const uintptr_t top = ((uintptr_t)pthread_self() + page) & ~(page - 1);
        if (top < here || top - here > ((size_t)1 << 30))
            return;
        me->walk.stack_hi = top;
        me->walk.stack_lo = me->stack_bytes ? top - me->stack_bytes : here & ~(page - 1);
    }
}

// Runs on the thread itself, inside its guard.
static void begin_thread(struct rb_self *me)
{
    if (have_key)
        pthread_setspecific(end_key, (void *)(uintptr_t)1);
    me->os_id = rb_host.sandboxed ? 0 : (uint32_t)syscall(SYS_gettid);
    find_stack(me);
    notes[me->id % NOTES].os_id = me->os_id;
    rb_spin_lock(&lock);
    set_handle(me, pthread_self());
    rb_spin_unlock(&lock);
    rb_sampling_start(me);
}

void rb_thread_begin(struct rb_self *child)
{
    rb_self_tls = child;
    child->busy = 1;
    begin_thread(child);
    rb_accesses_forget(child, child->walk.stack_lo, child->walk.stack_hi - child->walk.stack_lo);
    rb_sync_acquire(child, &child->begun);
    rb_leave(child);
}

// Drops one of the two references to a new state, the thread's or its creator's; the later one may free it.
static void drop_reference(struct rb_self *me, struct rb_self *t)
{
    if (--t->refs == 0 && t->finished && (t->detached || t->joined))
        free_state(me, t);
}

void rb_thread_created(struct rb_self *me, struct rb_self *child, pthread_t handle)
{
    rb_spin_lock(&lock);
    set_handle(child, handle);
    drop_reference(me, child);
    rb_spin_unlock(&lock);
}

void rb_thread_end(struct rb_self *me)
{
    rb_fences_free(me, me);
    // A later thread may get a part of this stack, and know only its own bounds.
    rb_accesses_forget(me, me->walk.stack_lo, me->walk.stack_hi - me->walk.stack_lo);
    rb_signal_stack_end(me);
    rb_libraries_thread_ends(me);
    rb_sync_release_store(me, &me->ended);
    rb_record_sync(me, RB_MARK, me->id);
    rb_sampling_end(me);
    rb_spin_lock(&lock);
    notes[me->id % NOTES].running = false;
    alive--;
    me->finished = true;
    gone = true;
    rb_self_tls = NULL;
    rb_skip = RB_NEVER;
    const bool deferred = me->deferred;
    const sigset_t mask = me->deferred_mask;
    drop_reference(me, me);
    rb_spin_unlock(&lock);
    rb_fetch_add_seq_cst(&ends, 1);
    if (rb_load_seq_cst(&awaited))
        syscall(SYS_futex, &ends, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
    if (!deferred)
        return;
    late = true; // its handler runs after the end. A signal sent to the process would be lost with the thread
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
}

// Returns true if keys behind ours have values: they come after it in the last lap too. Whether they have
// destructors is not known.
static bool has_values_left(void)
{
    for (pthread_key_t key = end_key + 1; key < PTHREAD_KEYS_MAX; key++)
        if (pthread_getspecific(key))
            return true;
    return false;
}

// Runs in every lap of key destructors; the last lap is the thread's end.
static void end_on_last_lap(void *laps)
{
    const uintptr_t lap = (uintptr_t)laps;
    struct rb_self *me = rb_self_tls;

    if (lap < PTHREAD_DESTRUCTOR_ITERATIONS && !pthread_setspecific(end_key, (void *)(lap + 1)))
        return;
    if (!me || me->busy)
        return;
    me->busy = 1;
    late = has_values_left();
    rb_thread_end(me);
}

// Looks the thread up before the join: its handle may be reused once it has really been joined, which is
// before the runtime learns of it. No other thread may join it then, so the state stays.
struct rb_self *rb_thread_joining(pthread_t handle)
{
    struct rb_self *t;

    rb_spin_lock(&lock);
    for (t = handles[((uintptr_t)handle >> 6) % HANDLES]; t; t = t->by_handle)
        if (t->handle == handle && !t->claimed && !t->joined && !t->detached)
            break;
    if (t)
        t->claimed = true;
    rb_spin_unlock(&lock);
    return t;
}

void rb_thread_not_joined(struct rb_self *t)
{
    rb_spin_lock(&lock);
    t->claimed = false;
    rb_spin_unlock(&lock);
}

// Finds a thread that was not known when its join began: of several that had this handle, the one that
// ended first.
static struct rb_self *find_ended(pthread_t handle)
{
    struct rb_self *found = NULL;

    for (struct rb_self *t = handles[((uintptr_t)handle >> 6) % HANDLES]; t; t = t->by_handle)
        if (t->handle == handle && t->finished && !t->joined)
            found = t;
    return found;
}

void rb_thread_joined(struct rb_self *me, struct rb_self *t, pthread_t handle)
{
    rb_spin_lock(&lock);
    if (!t)
        t = find_ended(handle);
    if (!t ||
        !t->finished) { // ended without its destructor, or never seen: its accesses are not known to be over
        rb_spin_unlock(&lock);
        rb_lost_edge(me);
        return;
    }
    t->joined = true;
    rb_sync_acquire(me, &t->ended);
    rb_record_sync(me, RB_JOIN, t->id);
    if (t->refs == 0)
        free_state(me, t);
    rb_spin_unlock(&lock);
}

void rb_thread_detached(struct rb_self *me, pthread_t handle)
{
    struct rb_self *found = NULL;

    rb_spin_lock(&lock);
    for (struct rb_self *t = handles[((uintptr_t)handle >> 6) % HANDLES]; t && !found; t = t->by_handle)
        if (t->handle == handle && !t->claimed && !t->joined && !t->detached)
            found = t;
    if (found) {
        found->detached = true;
        if (found->finished && found->refs == 0)
            free_state(me, found);
    }
    rb_spin_unlock(&lock);
}

// Switches the runtime off: there is no state for this thread, so its synchronisation goes unseen from now
// on, and with it orders between other threads that it carries. A thread ordered after this one finds the
// runtime off, and reports nothing (history_table.h).
static void stop_tracking(void)
{
    static const char line[] =
        "Railbird: no memory for another thread: the program runs unwatched from here\n";

    if (rb_exchange_seq_cst(&rb_process.on, false))
        rb_say(line, sizeof(line) - 1);
}

void rb_thread_retire(void)
{
    gone = true;
    rb_self_tls = NULL;
    rb_skip = RB_NEVER;
    rb_store_seq_cst(&rb_process.on, false);
}

struct rb_self *rb_self_make(void)
{
    static RB_TLS bool making; // allocation in here may come back by an interceptor

    if (gone && late) // if this is synchronisation, it is not followed
        rb_lost_edge(NULL);
    if (!rb_process.on || gone || making)
        return NULL;
    making = true;
    struct rb_self *me = new_thread(RB_NO_THREAD, 0);
    making = false;
    if (!me) {
        stop_tracking();
        return NULL;
    }
    me->busy = 1;
    rb_self_tls = me;
    begin_thread(me);
    me->refs = 1;
    if (me->id) // made by unknown means, so the order before it is not known either
        rb_lost_edge(me);
    me->busy = 0;
    return me;
}

struct rb_self *rb_fiber_new(struct rb_self *creator)
{
    rb_spin_lock(&lock);
    struct rb_self *t = make_state(FIBER, next_id);
    if (t) {
        next_id = next_id + 1 == RB_NO_THREAD ? 1 : next_id + 1;
        write_note(t, creator->id, 0);
    }
    rb_spin_unlock(&lock);
    if (!t)
        return NULL;
    rb_sampling_spawn(creator); // as for a second thread
    rb_sampling_start(t);
    return t;
}

void rb_fiber_free(struct rb_self *me, struct rb_self *fiber)
{
    rb_fences_free(me, fiber);
    rb_record_free(fiber);
    rb_spin_lock(&lock);
    notes[fiber->id % NOTES].running = false;
    free_state(me, fiber);
    rb_spin_unlock(&lock);
}

void rb_thread_name(uint32_t id, const char *name)
{
    struct rb_thread_note *n = &notes[id % NOTES];
    unsigned i = 0;

    rb_spin_lock(&lock);
    for (; n->id == id && i + 1 < sizeof(n->name) && name[i]; i++)
        n->name[i] = name[i];
    if (n->id == id)
        n->name[i] = 0;
    rb_spin_unlock(&lock);
}

struct rb_self *rb_thread_by_handle(pthread_t handle)
{
    struct rb_self *found = NULL;

    rb_spin_lock(&lock);
    for (struct rb_self *t = handles[((uintptr_t)handle >> 6) % HANDLES]; t; t = t->by_handle)
        if (t->handle == handle && !t->finished)
            found = t;
    rb_spin_unlock(&lock);
    return found;
}

bool rb_thread_note(uint32_t id, struct rb_thread_note *note)
{
    rb_spin_lock(&lock);
    *note = notes[id % NOTES];
    rb_spin_unlock(&lock);
    return note->id == id && (id || slot_count);
}

bool rb_thread_of_stack(uintptr_t address, uint32_t *id, bool *tls)
{
    bool found = false;

    rb_spin_lock(&lock);
    for (uint32_t s = 0; s < slot_count && !found; s++) {
        const struct rb_self *t = slots[s].user;
        if (!t || t->finished)
            continue;
        // Static TLS is just below the thread's control block.
        *tls = t->handle_known && address < (uintptr_t)t->handle && address >= (uintptr_t)t->handle - 4096;
        found = *tls || (address >= t->walk.stack_lo && address < t->walk.stack_hi);
        if (found)
            *id = t->id;
    }
    rb_spin_unlock(&lock);
    return found;
}

static bool has_others(void)
{
    struct rb_self *me = rb_enter();

    if (!me)
        return false;
    rb_spin_lock(&lock);
    const bool others = alive > 1;
    rb_spin_unlock(&lock);
    rb_leave(me);
    return others;
}

void rb_threads_await_others(uint64_t ms)
{
    const uint64_t end = rb_clock_ns(CLOCK_MONOTONIC) + ms * 1000000;

    rb_store_seq_cst(&awaited, true);
    for (;;) {
        const uint32_t seen = rb_load_seq_cst(&ends);
        const uint64_t now = rb_clock_ns(CLOCK_MONOTONIC);
        if (rb_host.sandboxed || now >= end || !has_others())
            return;
        const struct timespec left = {(time_t)((end - now) / 1000000000), (long)((end - now) % 1000000000)};
        syscall(SYS_futex, &ends, FUTEX_WAIT_PRIVATE, seen, &left, NULL, 0);
    }
}

void rb_threads_totals(struct rb_totals *t)
{
    rb_spin_lock(&lock);
    *t = ended;
    for (uint32_t s = 0; s < slot_count; s++)
        if (slots[s].user)
            add_counts(t, slots[s].user);
    t->threads = next_id;
    t->most_threads = most_alive;
    rb_spin_unlock(&lock);
}
