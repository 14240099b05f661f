// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The simulated program behind a generated trace: its threads, locks and variables, and the only function
// that emits events. Private to gen*.c. Tool side.
//
// The length of a trace is exact because every open item is a debt. `debt` counts the events that would
// close the world in its current state: a release for each section, an exit for each call, the rest of each
// barrier round, the forks and joins still to come. Invariant, between events:
//
//     done + debt + slack == events, slack >= 0
//
// An access takes one from slack. Opening a section or a call takes two (its event and its debt); closing
// one takes none. When slack is 0 the world is closed, and the last join is event number `events`.
#ifndef RB_LAB_GENERATE_GEN_WORLD_H
#define RB_LAB_GENERATE_GEN_WORLD_H

#include "base/rng.h"
#include "lab/generate/gen.h"
#include "trace/writer.h"

#define GEN_GROUP      8u   // threads that share a barrier and most of their locks
#define GEN_CALLS      12u  // maximum depth of the call stack
#define GEN_NESTING    64u  // largest --nesting
#define GEN_REGIONS    125u // stand-ins for functions if there are none: 1000 locations
#define GEN_RECENT     8u   // private variables that a thread uses repeatedly; a power of two
#define GEN_SLOTS      4u   // items in flight in a channel
#define GEN_BURSTS     256u
#define GEN_MEAN_BURST 24
#define GEN_MAX_LOCKS  (1u << 23)
#define GEN_ONE        (UINT64_C(1) << 32) // shares are fixed point: a seed means the same everywhere
#define GEN_NONE       UINT32_MAX

// The code locations of a function, by the kind of code there: location = function * GEN_ROLES + role.
enum gen_role {
    GEN_PRIVATE_READ,
    GEN_PRIVATE_WRITE,
    GEN_GUARDED_READ,
    GEN_GUARDED_WRITE,
    GEN_CONSTANT_READ,
    GEN_SYNC,
    GEN_LOOSE_READ,
    GEN_LOOSE_WRITE,
    GEN_ROLES
};

struct gen_range {
    uint64_t first, count;
};

enum gen_section {
    GEN_MUTEX,
    GEN_READ_LOCK,
    GEN_WRITE_LOCK,
    GEN_PRODUCE,
    GEN_CONSUME,
    GEN_SPIN,
    GEN_PUBLISH
};

// An open critical section. Inside it only this thread accesses `data`.
struct gen_frame {
    struct gen_range data;
    uint64_t last;   // the last variable accessed; data.first + data.count: none yet
    uint32_t object; // index among the objects of its kind
    uint8_t section; // enum gen_section
    uint8_t slot;    // channels: the item taken
    uint8_t depth;   // calls open at its beginning; they stay open until its end
    bool read_only;
};

enum gen_barrier_state { GEN_RUNNING, GEN_ARRIVED, GEN_MAY_LEAVE };

struct gen_thread {
    uint32_t id;
    uint32_t ready_at;         // index in gen.ready; GEN_NONE while the thread waits at a barrier
    uint32_t home, home_count; // own mutexes: home + k * gen.homes, k < home_count
    uint32_t group_first, group_size;
    uint32_t rounds;      // barrier rounds it has left
    uint32_t published;   // a flag acquired after publication, so that its data may be read; GEN_NONE
    uint8_t held;         // open sections
    uint8_t depth;        // open calls
    uint8_t barrier;      // enum gen_barrier_state
    struct gen_range own; // private variables
    uint64_t recent[GEN_RECENT];
    struct gen_frame *frame;       // [nesting]
    uint32_t stack[GEN_CALLS + 1]; // functions; [0] is the thread's base, or the region without functions
};

// Cumulative thresholds for 32 random bits: they select the next event of a thread.
struct gen_row {
    uint64_t close, open, call, race; // from `race` on: an ordinary access
};

struct gen_rwlock {
    uint32_t readers;
    bool writer;
};

// Bounded buffer: two semaphores, `full` and `empty`. `queue[d]` holds the items that a wait in direction d
// (enum: 0 consume, 1 produce) may take. An earlier post on the same semaphore put each of them there.
struct gen_channel {
    uint8_t queue[2][GEN_SLOTS];
    uint8_t queued[2];
    uint8_t fresh; // items without a user so far: no wait needed
};

struct gen_barrier {
    uint32_t round;   // that is gathering; its object is the first or second of the pair, by parity
    uint32_t arrived; // threads that arrived at that round
};

// One half of a planted race: a thread accessed `variable` unprotected, and another is to do so soon after.
struct gen_invitation {
    uint64_t variable;
    uint32_t thread, function;
    uint32_t delay; // remaining bursts
    bool open, wrote;
};

struct gen {
    struct rb_writer writer;
    struct rb_rng rng;
    uint64_t events, done, debt;

    struct gen_row row[3]; // no section open; room for another; nested to the limit
    uint64_t sync_share, rich_share, race_share, call_share, nest_share, far_share, near_share; // of GEN_ONE
    uint64_t sync, rich;          // events of these kinds so far, without forks and joins
    uint64_t open;                // the part of `debt` that is synchronisation, without joins
    int64_t sync_owed, rich_owed; // requested minus emitted, of GEN_ONE
    int64_t sync_drift;           // lasting correction of sync_share
    uint64_t rich_now;            // probability that the next section is rich
    uint64_t steered_at, steered_sync, steered_rich;

    uint32_t threads, locks, nesting, functions, homes;
    uint32_t regions; // functions plus the base, or GEN_REGIONS
    struct gen_thread *thread;
    struct gen_frame *frames;
    uint32_t *ready, ready_count; // threads that can run
    bool *locked;                 // one flag a mutex
    struct gen_invitation invitation;
    uint64_t answered; // unprotected accesses made as answers, not yet set off against drawn ones

    // other objects; first_* is the lock id of the first of them
    uint32_t rwlocks, channels, spins, flags, barriers;
    uint32_t first_rwlock, first_channel, first_spin, first_flag, first_barrier, objects;
    struct gen_rwlock *rwlock;
    struct gen_channel *channel;
    bool *spin_held, *flag_published;
    struct gen_barrier *barrier;

    struct gen_range constants, loose;
    uint64_t guarded;      // variables 0.. are assigned to the guards in order:
    uint64_t guards;       // mutexes, rwlocks, channel items, spins, flags, barrier slots
    uint64_t *guard_first; // [guards + 1]
    uint64_t guard_rwlock, guard_channel, guard_spin, guard_flag, guard_barrier;

    uint32_t *zipf_cut, *zipf_alias; // alias table over regions
    uint32_t zipf_count;
    uint8_t burst[GEN_BURSTS]; // quantiles of the run length
};

// Computes sizes and tables from checked options. Call gen_world_free also after a failure.
int gen_world_make(struct gen *g, const struct rb_gen_options *o, struct rb_error *e);
void gen_world_free(struct gen *g);

// gen_sync.c. Each emits at most one event and returns true if it did.
bool gen_open(struct gen *g, struct gen_thread *t);
bool gen_close(struct gen *g, struct gen_thread *t);        // closes the innermost section or call
bool gen_barrier_step(struct gen *g, struct gen_thread *t); // leaves, or arrives at a gathering round
void gen_exit(struct gen *g, struct gen_thread *t);

static inline uint64_t gen_slack(const struct gen *g)
{
    return g->events - g->done - g->debt;
}

static inline struct gen_range gen_deal(uint64_t first, uint64_t total, uint64_t parts, uint64_t part)
{
    const uint64_t from = (uint64_t)((unsigned __int128)part * total / parts);
    const uint64_t to = (uint64_t)((unsigned __int128)(part + 1) * total / parts);
    return (struct gen_range){first + from, to - from};
}

static inline struct gen_range gen_guarded(const struct gen *g, uint64_t guard)
{
    return (struct gen_range){g->guard_first[guard], g->guard_first[guard + 1] - g->guard_first[guard]};
}

static inline bool gen_has_barrier(const struct gen *g, const struct gen_thread *t)
{
    return g->barriers > 0 && t->group_size > 1;
}

RB_INLINE void gen_put(struct gen *g, const struct gen_thread *t, enum rb_op op, uint64_t target,
                       uint32_t function, enum gen_role role)
{
    const struct rb_event event = {target, t->id, function * GEN_ROLES + role, op};

    rb_writer_put(&g->writer, &event, true);
    g->done++;
}

RB_INLINE uint64_t gen_pick(struct rb_rng *rng, struct gen_range range) // skewed; range.count > 0
{
    // The product of three uniform numbers: a tenth of the range gets six tenths of the draws.
    const uint64_t r = rb_rng_next(rng), mask = (1u << 21) - 1;
    const uint64_t product = (r & mask) * (r >> 21 & mask) * (r >> 43);
    return range.first + (uint64_t)((unsigned __int128)product * range.count >> 63);
}

RB_INLINE uint32_t gen_region(struct gen *g) // by popularity
{
    const uint64_t r = rb_rng_next(&g->rng);
    const uint32_t i = (uint32_t)((r >> 32) * g->zipf_count >> 32);
    return (uint32_t)r < g->zipf_cut[i] ? i : g->zipf_alias[i];
}

#endif
