// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The contract of the happens-before engines: a thread, a synchronisation object, a memory cell, and the
// five operations on them. One source serves the running program and the trace: this code calls no libc,
// takes no lock and keeps no state of its own. The caller owns every structure and calls
//   - thread operations from that thread (the lab: from its one thread),
//   - operations on a sync object with that object's lock held,
//   - operations on a cell with that cell's lock held.
// Memory comes from the arena handed in. If it is out for an access, the access is not recorded. If it is
// out for an edge, the engine goes blind (it records and reports nothing from then on), because a missing
// edge would make a false report. Both are counted in `starved`.
//
// How the pieces relate (docs/explanation/engines.md has the proofs):
//   epoch      e_t, the number under which thread t's sampled accesses are recorded now; grows at releases
//   published  C_t[t], the highest epoch of t that a release has handed out; later accesses carry e_t
//   clock[u]   the highest epoch of u that is ordered before t's next event: e1 of u is ordered before it iff
//              epoch(e1) <= clock[u]
// Engines differ in how clocks travel through sync objects, never in the meaning of clock[u].
#ifndef RB_ENGINE_ENGINE_H
#define RB_ENGINE_ENGINE_H

#include "base/arena.h"
#include "base/types.h"
#include "engine/epoch.h"
#include "engine/recent_clock.h"
#include "engine/vclock.h"

// Counted per thread; the printing code adds them up.
struct rb_engine_counters {
#define RB_COUNTER(name, text) uint64_t name;
#include "engine/counters.def"
#undef RB_COUNTER
};

struct rb_engine {
    const struct rb_engine_ops *ops;
    struct rb_arena *arena;
    uint32_t width; // slots in use: clocks made from now on have room for this many
    bool blind;     // an edge was lost: no access is checked any more
};

struct rb_thread { // two cache lines, the first of them the hot one
    uint32_t slot;
    uint32_t epoch;     // e_t, from 1
    uint32_t published; // C_t[t]
    bool sampled;       // an access was recorded under `epoch`
    // The view that the access check uses, kept current by every acquire: clock[u] for u < clock_size, 0
    // above.
    const uint32_t *clock;
    uint32_t clock_size;
    union {
        struct rb_vclock *vector; // djit, fasttrack, st, su
        struct rb_rclock *recent; // so: without t's own component
    };
    struct rb_fresh *fresh; // su, so: U_t
    uint64_t version;       // so: U_t[t], kept here and not in `fresh`: grows when `recent` changes
    struct rb_engine_counters count;
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct rb_thread) == 128, "two cache lines");

// Does the epoch step of a release: accesses recorded under e_t are now published.
RB_INLINE void rb_epoch_step(struct rb_thread *t)
{
    t->published = t->epoch;
    if (RB_LIKELY(t->epoch < RB_EPOCH_TIME_MAX))
        t->epoch++;
    t->sampled = false;
}

// Does the same if an access was sampled, without a branch: the condition is unpredictable.
RB_INLINE void rb_epoch_step_if_sampled(struct rb_thread *t)
{
    const uint32_t yes = t->sampled, mask = 0 - yes;

    t->published = (t->epoch & mask) | (t->published & ~mask);
    t->epoch += yes & (t->epoch < RB_EPOCH_TIME_MAX);
    t->sampled = false;
}

// A slot may have several users, one after the other. The next user knows nothing of the knowledge of an
// earlier one, so their versions (U of su and so) must not be compared. The versions of the next user begin
// RB_VERSIONS after the last one's, and no user makes so many.
#define RB_VERSIONS (UINT64_C(1) << 42)

// Returns true if a thread that has heard `heard` of a slot knows `version` of it. A later version of the
// same user includes all earlier ones.
RB_INLINE bool rb_has_heard(uint64_t heard, uint64_t version)
{
    return heard - version < RB_VERSIONS;
}

// A release as SO hands it over: a reference to the releaser's clock instead of a copy.
struct rb_source {
    struct rb_rclock *recent;
    uint64_t version;   // of the releaser's clock when it released
    uint32_t releaser;  // its slot
    uint32_t published; // its own component
};

struct rb_sync {
    union {
        struct { // djit, fasttrack, st, su
            struct rb_vclock *vector;
            struct rb_fresh *fresh; // su
            uint32_t releaser;      // su: LR, or RB_NO_SLOT after a join
        };
        struct {                  // so
            struct rb_source one; // the only source, while `sources` is at most 1
            union {
                struct rb_source *few;    // all of them, when more; kept when it is one again
                struct rb_rclock *joined; // their join, when `sources` is RB_JOINED
            };
            uint32_t sources;
        };
    };
};

#define RB_NO_SLOT UINT32_MAX
#define RB_JOINED  UINT32_MAX

static inline bool rb_engine_go_blind(struct rb_engine *e, struct rb_thread *t)
{
    t->count.starved++;
    e->blind = true;
    return false;
}

// The earlier side of a race. If several accesses race, every engine names the same one while their
// histories agree: the last write if it races, else the latest racing read, else the latest racing write.
struct rb_partner {
    rb_epoch epoch; // thread, time, read or write; 0: no race
    uint64_t where;
};

struct rb_access {
    uint64_t where;
    bool write;
};

struct rb_cell; // engine/access_history.h

struct rb_predictor_ops;

struct rb_engine_ops {
    const char *name;
    const char *help;
    // Not NULL: an engine for whole traces, with operations of its own (lab/predict/predict.h) and none of
    // the operations below.
    const struct rb_predictor_ops *predict;
    // Returns true if an acquire would teach the thread nothing. False may mean that this is not known.
    // NULL for engines that cannot tell cheaply. With it, a thread's `version` grows whenever its clock
    // changes.
    bool (*knows)(const struct rb_thread *, const struct rb_sync *);
    bool every_release; // the local epoch grows at every release, not only after a sampled access
    int (*thread_start)(struct rb_engine *, struct rb_thread *); // slot is set, the rest zero
    void (*thread_stop)(struct rb_engine *, struct rb_thread *);
    // All return true if the operation was skipped: no data of size O(T) was read or written.
    bool (*acquire)(struct rb_engine *, struct rb_thread *, struct rb_sync *);
    // A release that follows the same thread's acquire of the same object, with nothing between: mutexes.
    bool (*release)(struct rb_engine *, struct rb_thread *, struct rb_sync *);
    // A release that replaces the contents of the object, without that discipline: release stores, fork.
    bool (*release_store)(struct rb_engine *, struct rb_thread *, struct rb_sync *);
    // A release that joins: read-unlock, barrier, semaphore, read-modify-write.
    bool (*release_join)(struct rb_engine *, struct rb_thread *, struct rb_sync *);
    void (*sync_clear)(struct rb_engine *, struct rb_sync *);
    // Checks the access against the cell and, with `record`, puts it in. Race: partner->epoch is not 0.
    void (*access)(struct rb_engine *, struct rb_thread *, struct rb_cell *, struct rb_access, bool record,
                   struct rb_partner *);
    // Checks the access against the cell and leaves the cell as it is: for cells that share only some bytes
    // with the access. *partner is set only by a race.
    void (*peek)(const struct rb_engine *, const struct rb_thread *, const struct rb_cell *, struct rb_access,
                 struct rb_partner *);
    void (*cell_clear)(struct rb_engine *, struct rb_cell *);
};

extern const struct rb_engine_ops rb_djit, rb_fasttrack, rb_st, rb_su, rb_so;
extern const struct rb_engine_ops *const rb_engines[]; // NULL at the end
const struct rb_engine_ops *rb_engine_find(const char *name);

#endif
