// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The nouns of the runtime, which lives inside other people's programs: libc alone, no malloc, no stdio, no
// errno changed, nothing printed but reports, nothing ended and nothing hung (docs/explanation/runtime.md).
//
// Every thread of the program has a `rb_self`, made at its first step into the runtime. Three rules hold
// everywhere in this folder:
//   guard   Work on shared state happens between rb_enter and rb_leave. A signal that arrives in between
//           waits for rb_leave (signals.c), so handlers never see half-done work and locks never wait for
//           themselves. Functions of the program and blocking calls are never called inside.
//   edges   An ordering that could not be recorded (memory, unknown thread) calls rb_lost_edge: all recorded
//           accesses are forgotten. A pair of accesses with a missing edge between them has its first access
//           before the loss. So the loss can only miss races, not report a false one. It is counted.
//   errno   Each entry point that can change errno saves it.
#ifndef RB_RUN_CORE_RT_H
#define RB_RUN_CORE_RT_H

#include <pthread.h>
#include <signal.h>

#include "base/rng.h"
#include "engine/access_history.h"
#include "engine/engine.h"
#include "inproc/host.h"
#include "inproc/spin.h"
#include "run/core/pause.h"
#include "run/core/stack.h"
#include "run/core/thread_state.h"

#define RB_NEVER INT64_MAX // of rb_skip: no access is taken

// Counted for each thread, added up at the end (stats.c prints them all).
struct rb_rt_counters {
#define RB_COUNTER(name, text) uint64_t name;
#include "run/core/counters.def"
#undef RB_COUNTER
};

// The thread's memory of an object (sync_cache.h).
struct rb_known {
    uintptr_t address;
    struct rb_object *object;
    uint64_t version;
    uint64_t clock;
    uint32_t epoch; // 0: never released to
    uint32_t held;  // generation of the history when the thread locked it; 0: the thread has not locked it
    uint32_t depth; // times the thread locked it to read
};
// counters of a thread's uses of objects, by hash (intercept.c); the hash has 7 bits
#define RB_USES        128u
#define RB_KNOWN_SHIFT 58u
#define RB_KNOWN       64u

// A line of memory that the thread accessed under its current epoch (history.h).
struct rb_recent {
    uintptr_t name; // 0: none
    uint32_t epoch, stamp;
    uint32_t written, known; // bytes of the line: written; written or read
};
#define RB_RECENT 256u

struct rb_self {
    struct rb_thread hb;     // the engine's state of the thread
    struct rb_engine engine; // the same for all threads but `width` and `blind`
    struct rb_unseen_state unseen;

    // Written by the thread itself and by its signal handlers.
    volatile int busy;      // depth of rb_enter
    volatile int deferred;  // a signal waits for rb_leave
    sigset_t deferred_mask; // the mask to restore then
    struct rb_signal_queue signals;
    uintptr_t step_at;         // the atomic operation under way (atomics.c); 0: none
    struct rb_object *step_on; // and the object locked for it
    int ignore_reads, ignore_writes, ignore_sync;
    int inside_mutex; // mutexes that the program builds from atomics (annotations.c)
    uintptr_t mutex;  // the outermost of them
    bool creating;    // the thread makes another: libc frees memory of a dead thread, in its own order
    bool ending;      // the last destructor has run

    // Sampling: rb_skip counts down from `granted`; see sampling.c.
    int64_t granted;
    struct rb_sampling sampling;
    struct rb_rng rng;

    uint32_t id; // 0 is the main thread, unique while 2^24 are enough
    uint32_t os_id;
    struct rb_walk walk;
    uint64_t steps;                  // synchronisation operations, if RB_COUNTS; read by other threads
    uint64_t sync_began;             // sync.h: start of the current operation; 0: not timed
    struct rb_sync ended;            // released when the thread ends, acquired by the thread that joins it
    struct rb_sync begun;            // released by the creator, acquired at the start
    struct rb_fences *fences;        // atomics.c; NULL before the thread's first fence
    struct rb_known known[RB_KNOWN]; // by address
    int64_t fiber_skip;              // rb_skip while another fiber runs (annotations.c)
    struct rb_recent *recent;        // RB_RECENT lines, by address; NULL: the thread remembers none
    void *record;                    // record.c: the thread's buffer

    uint64_t uses[RB_USES]; // not thread-local: dlopen has little room for that

    struct rb_rt_counters count;
    struct rb_found *found; // race.c: races found while an object's lock was held, to be reported later

    pthread_t handle;
    size_t stack_bytes; // as requested at creation; 0: not known
    bool handle_known, detached, claimed, joined, finished;
    uint8_t refs; // under the lock of thread.c
    uint8_t state;
    struct rb_self *next; // in the list of all states, or of the free ones
    struct rb_self *by_handle;
};

// The thread's state in the runtime, and the number of accesses to pass over before the next look. Both are
// 0 before the first step into the runtime, so the first access takes the slow path.
extern RB_TLS RB_HIDDEN struct rb_self *rb_self_tls;
extern RB_TLS RB_HIDDEN int64_t rb_skip;
// Accesses to pass over at places that cannot sleep, before rb_skip counts. Their number need not hide
// accesses that come seldom. Set only by samplers that put sites to sleep.
extern RB_TLS RB_HIDDEN int64_t rb_unpatched_skip;

// The process. Written at start, by the child of a fork, and where noted.
struct rb_process {
    bool on;      // the runtime works; false: everything passes through
    bool child;   // of a fork, before it has called exec
    uint32_t pid; // of the process; 0: in a child that may not ask the kernel
    const struct rb_engine_ops *ops;
    struct rb_arena arena; // clocks, objects, lists (shared: it has its own lock)
    uint32_t generation;   // of the access history; grows when all of it is forgotten (history.h)
    uint32_t width;        // slots ever used
    uint32_t stack_depth;
    bool take_all;  // sampler=all
    bool by_cost;   // accesses are timed for rb_sampling_cost
    uint8_t paused; // RB_PAUSED: tracking is paused (rb_is_paused); RB_COUNTS
    bool collides;  // accesses are compared by traps alone: trap_races.c
    bool quick;     // threads may rely on their memory of objects (sync_cache.h)
    bool windows;   // synchronisation may be passed over, as rb_sampling_sync says
    bool unseen;    // order made in libraries without hooks is followed
    uint64_t lost_edges;
    uint64_t races, suppressed; // reported, and found but suppressed
    uint64_t partial;           // of those reported: known by partial evidence
};
extern RB_HIDDEN struct rb_process rb_process;
_Static_assert(offsetof(struct rb_process, paused) == RB_PAUSED_AT, "for arch_hooks_*.S");

// Returns the thread's state, made if need be. NULL: the runtime is off, has no memory for a state, or is
// already at work on it; the caller passes through.
RB_HIDDEN struct rb_self *rb_self_make(void);

RB_INLINE struct rb_self *rb_self_get(void)
{
    struct rb_self *me = rb_self_tls;

    if (RB_UNLIKELY(!me))
        me = rb_self_make();
    return me;
}

RB_HIDDEN void rb_deliver_deferred(struct rb_self *me);

// Begins work on shared state. Returns NULL if the caller must pass through.
RB_INLINE struct rb_self *rb_enter(void)
{
    struct rb_self *me = rb_self_get();

    if (RB_UNLIKELY(!me || me->busy))
        return NULL;
    me->busy = 1;
    __asm__ volatile("" ::: "memory");
    return me;
}

RB_INLINE void rb_leave(struct rb_self *me)
{
    __asm__ volatile("" ::: "memory");
    me->busy = 0;
    if (RB_UNLIKELY(me->deferred))
        rb_deliver_deferred(me);
}

// rb_process.paused says that tracking is paused: always with sampler=none, at times where following
// synchronisation costs too much (adaptive.c). A hook reads it after the program's operation if that may
// acquire, else before it; docs/explanation/runtime.md, section 3, says why that is enough.
//
// Synchronisation operations are also counted here, for samplers that compare by such counts
// (docs/explanation/samplers.md, "Clock races"). The count grows before another thread can see the release. One
// instruction does it, because a handler may come between two. pause.h has the states.
RB_INLINE void rb_step(struct rb_self *me)
{
    rb_fetch_add_release(&me->steps, 1);
}

// Returns true if the program's own operation is all there is to do: paused, and nothing is counted.
RB_INLINE bool rb_idle(void)
{
    return RB_LIKELY(rb_load_acquire(&rb_process.paused) == RB_PAUSED);
}

RB_INLINE bool rb_is_paused(void)
{
    const uint8_t paused = rb_load_acquire(&rb_process.paused);

    if (RB_LIKELY(paused == RB_PAUSED))
        return true;
    if (RB_UNLIKELY(paused & RB_COUNTS) && rb_self_tls)
        rb_step(rb_self_tls);
    return paused & RB_PAUSED;
}

// The sampler or the recorder asks for function entries and exits.
extern RB_HIDDEN bool rb_functions_wanted;

// Counts a lost edge: see "edges" above. `me` is NULL for a thread without a state.
RB_HIDDEN void rb_lost_edge(struct rb_self *me);

#endif
