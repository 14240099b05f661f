// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SO (Efficient Timestamping, algorithm 4) with the local-epoch optimisation. A release hands over a
// reference to the thread's clock. An acquire reads the parts of it that changed since the thread last
// heard from the releaser.
//
// t's own component is kept out of its clock: a release passes (clock, version, t, published), and the last
// two stand for the missing entry. So a new local epoch copies nothing, and the version (U_t[t] in the
// paper) grows with changes of the clock alone. The common acquire is two scalar comparisons:
//     source.version <= U_t[releaser]   the clock has nothing new (proposition 5; rb_has_heard), and
//     source.published <= C_t[releaser].
// Else the blocks stamped after U_t[releaser] are joined (engine/recent_clock.h: the paper walks the first
// d nodes of a list, we read the recently changed blocks). An entry for t itself may come along in a block:
// it is at most t's published, is never used, and does not count as a change.
//
// Several sources are our extension; the paper falls back to whole vectors. Read-unlock, barrier, semaphore
// and read-modify-write join. The object then holds one source a releasing thread, without sources that a
// newer one dominates. Dominated: t knows everything v released (both comparisons above hold for t). A
// thread that acquires from t then learns v's release as well, because C_t >= C_v.
//
// Beyond FEW sources, checking each costs more than a join. The object then holds their join instead, a
// clock of its own, until a release replaces it or it is cleared (measured in docs/explanation/engines.md).
#include <errno.h>

#include "engine/access_history.h"
#include "engine/so_fast.h"

#define FEW      4u                     // sources kept apart
#define ONE_PASS (64 * RB_RCLOCK_BLOCK) // slots of clocks that are copied and joined at once

static int thread_start(struct rb_engine *engine, struct rb_thread *t)
{
    t->fresh = rb_fresh_new(engine->arena, engine->width);
    t->recent = rb_rclock_new(engine->arena, engine->width);
    if (!t->fresh || !t->recent)
        return -ENOMEM;
    t->epoch = 1;
    t->clock = t->recent->time;
    t->clock_size = t->recent->size;
    return 0;
}

static void thread_stop(struct rb_engine *engine, struct rb_thread *t)
{
    if (t->recent)
        rb_rclock_unref(engine->arena, t->recent);
    rb_fresh_free(engine->arena, t->fresh);
    t->recent = NULL;
    t->fresh = NULL;
}

// Makes t's clock its own before a change. Returns false when memory is out.
static bool own_clock(struct rb_engine *engine, struct rb_thread *t, uint32_t slots)
{
    bool copied;

    if (RB_LIKELY(rb_rclock_alone(t->recent) && slots <= t->recent->size))
        return true;
    if (!rb_rclock_own(engine->arena, &t->recent, slots, &copied))
        return false;
    t->count.deep_copies += copied;
    t->clock = t->recent->time;
    t->clock_size = t->recent->size;
    return true;
}

// Returns the blocks, of 64 from `first`, that changed after `known`, one bit each. No branches: each would
// be unpredictable.
static uint64_t recent_blocks(const struct rb_rclock *seen, uint32_t first, uint64_t known)
{
    const uint64_t *stamps = rb_rclock_stamps(seen) + first;
    const uint32_t blocks = seen->size / RB_RCLOCK_BLOCK - first, n = blocks < 64 ? blocks : 64;
    uint64_t mask = 0;

    for (uint32_t b = 0; b < n; b++)
        mask |= (uint64_t)(stamps[b] > known) << b;
    return mask;
}

// Returns the blocks, of those, that have something new for t, its own entry aside.
static uint64_t rising_blocks(const struct rb_thread *t, const struct rb_rclock *seen, uint32_t first,
                              uint64_t recent)
{
    const uint32_t own_block = t->slot / RB_RCLOCK_BLOCK - first;
    const unsigned own = 1u << t->slot % RB_RCLOCK_BLOCK;
    uint64_t mask = 0;

    for (; recent; recent &= recent - 1) {
        const unsigned b = (unsigned)__builtin_ctzll(recent);
        const unsigned rising = rb_rclock_rising(t->recent, seen, first + b);
        mask |= (uint64_t)((rising & ~(own & (0u - (b == own_block)))) != 0) << b;
    }
    return mask;
}

// Joins the blocks of `seen` that changed after `known`, one by one. *changed is set if an entry rose.
// Returns false when memory is out.
static RB_NOINLINE bool join_by_blocks(struct rb_engine *engine, struct rb_thread *t,
                                       const struct rb_rclock *seen, uint64_t known, uint64_t version,
                                       bool *changed)
{
    for (uint32_t first = 0; first < seen->size / RB_RCLOCK_BLOCK; first += 64) {
        const uint64_t rising = rising_blocks(t, seen, first, recent_blocks(seen, first, known));
        if (!rising)
            continue;
        if (!own_clock(engine, t, seen->size))
            return false;
        *changed = true;
        rb_rclock_join_blocks(t->recent, seen, first, rising, version);
    }
    return true;
}

// Counts the entries in blocks that changed after `known`: the entries that an acquire reads.
static uint64_t recent_entries(const struct rb_engine *engine, const struct rb_rclock *seen, uint64_t known)
{
    const uint64_t *stamps = rb_rclock_stamps(seen);
    uint64_t entries = 0;

    for (uint32_t b = 0; b < seen->size / RB_RCLOCK_BLOCK; b++)
        entries += (known - stamps[b]) >> 63; // versions stay below 2^63: the sign says stamp > known
    entries *= RB_RCLOCK_BLOCK;
    return entries < engine->width ? entries : engine->width; // without the padding
}

// Joins the parts of `seen` that changed after `known`. A clock that must be copied is copied and joined in
// one pass, without regard to its stamps; else the stamps lead to the blocks. Returns false when memory is
// out.
RB_INLINE bool join_recent(struct rb_engine *engine, struct rb_thread *t, const struct rb_rclock *seen,
                           uint64_t known, uint64_t version, bool *changed)
{
    t->count.entries_traversed += recent_entries(engine, seen, known);
    if (rb_rclock_alone(t->recent) || seen->size != t->recent->size || seen->size > ONE_PASS)
        return join_by_blocks(engine, t, seen, known, version, changed);
    const int copied = rb_rclock_join_copy(engine->arena, &t->recent, seen, t->slot, version);
    if (copied <= 0)
        return copied == 0;
    *changed = true;
    t->count.deep_copies++;
    t->clock = t->recent->time;
    return true;
}

bool rb_so_learn(struct rb_engine *engine, struct rb_thread *t, const struct rb_source *s)
{
    const uint32_t room = s->releaser < s->recent->size ? s->recent->size : s->releaser + 1;
    const uint64_t version = t->version + 1;
    bool changed = false;

    if (RB_UNLIKELY(room > t->fresh->size) && !rb_fresh_reserve(engine->arena, &t->fresh, room))
        return rb_engine_go_blind(engine, t);
    t->count.entries_total += engine->width;
    const uint64_t heard = t->fresh->changes[s->releaser];
    if (!rb_has_heard(heard, s->version)) {
        const uint64_t known = rb_has_heard(s->version, heard) ? heard : 0; // 0: that was an earlier user
        t->fresh->changes[s->releaser] = s->version;
        if (!join_recent(engine, t, s->recent, known, version, &changed))
            return rb_engine_go_blind(engine, t);
    }
    if (s->published > rb_rclock_get(t->recent, s->releaser)) {
        if (!own_clock(engine, t, room))
            return rb_engine_go_blind(engine, t);
        rb_rclock_set(t->recent, s->releaser, s->published, version);
        changed = true;
    }
    t->version += changed;
    return false;
}

// Joins all of a join of many sources: no single version stands for it.
static bool acquire_joined(struct rb_engine *engine, struct rb_thread *t, const struct rb_rclock *joined)
{
    bool changed = false;

    t->count.entries_total += engine->width;
    if (!join_recent(engine, t, joined, 0, t->version + 1, &changed))
        return rb_engine_go_blind(engine, t);
    t->version += changed;
    return false;
}

bool rb_so_acquire_several(struct rb_engine *engine, struct rb_thread *t, struct rb_sync *s)
{
    bool skipped = true;

    if (s->sources == RB_JOINED)
        return acquire_joined(engine, t, s->joined);
    for (uint32_t i = 0; i < s->sources; i++)
        if (!rb_so_nothing_new(t, &s->few[i]))
            skipped = rb_so_learn(engine, t, &s->few[i]);
    return skipped;
}

static bool acquire_sync(struct rb_engine *engine, struct rb_thread *t, struct rb_sync *s)
{
    return rb_so_acquire(engine, t, s);
}

static bool knows_sync(const struct rb_thread *t, const struct rb_sync *s)
{
    if (s->sources == RB_JOINED)
        return false;
    if (s->sources <= 1)
        return s->sources == 0 || rb_so_nothing_new(t, &s->one);
    for (uint32_t i = 0; i < s->sources; i++)
        if (!rb_so_nothing_new(t, &s->few[i]))
            return false;
    return true;
}

// Leaves the object without sources; the array of few stays for the next ones.
static void drop_sources(struct rb_engine *engine, struct rb_sync *s)
{
    if (s->sources == RB_JOINED) {
        rb_rclock_unref(engine->arena, s->joined);
        s->few = NULL;
    } else if (s->sources == 1) {
        rb_rclock_unref(engine->arena, s->one.recent);
    } else {
        for (uint32_t i = 0; i < s->sources; i++)
            rb_rclock_unref(engine->arena, s->few[i].recent);
    }
    s->sources = 0;
}

// Replaces the sources of the object, none or several, by this thread's release. The epoch has been
// stepped.
bool rb_so_replace(struct rb_engine *engine, struct rb_thread *t, struct rb_sync *s)
{
    rb_rclock_ref(t->recent);
    drop_sources(engine, s);
    s->one = rb_so_source(t);
    s->sources = 1;
    t->count.releases_processed++;
    return false;
}

static bool release_sync(struct rb_engine *engine, struct rb_thread *t, struct rb_sync *s)
{
    return rb_so_release(engine, t, s);
}

// Raises *joined to the clock of a source. Returns false when memory is out.
static bool join_source(struct rb_engine *engine, struct rb_rclock **joined, const struct rb_source *s)
{
    const uint32_t room = s->releaser < s->recent->size ? s->recent->size : s->releaser + 1;
    bool copied;

    if (!rb_rclock_own(engine->arena, joined, room, &copied))
        return false;
    for (uint32_t first = 0; first < s->recent->size / RB_RCLOCK_BLOCK; first += 64) {
        const uint32_t blocks = s->recent->size / RB_RCLOCK_BLOCK - first;
        const uint64_t all = blocks < 64 ? (UINT64_C(1) << blocks) - 1 : ~UINT64_C(0);
        rb_rclock_join_blocks(*joined, s->recent, first, all, 1);
    }
    if (s->published > (*joined)->time[s->releaser])
        rb_rclock_set(*joined, s->releaser, s->published, 1);
    return true;
}

// Turns few sources into their join. Returns false when memory is out.
static RB_NOINLINE bool collapse_sources(struct rb_engine *engine, struct rb_sync *s)
{
    struct rb_rclock *joined = rb_rclock_new(engine->arena, engine->width);

    for (uint32_t i = 0; joined && i < s->sources; i++)
        if (!join_source(engine, &joined, &s->few[i]))
            return false;
    if (!joined)
        return false;
    struct rb_source *few = s->few;
    drop_sources(engine, s);
    rb_arena_free(engine->arena, few, FEW * sizeof(*few));
    s->joined = joined;
    s->sources = RB_JOINED;
    return true;
}

// Keeps the sources, of few, that t does not know; t's own release comes behind them.
static void join_few(struct rb_engine *engine, struct rb_thread *t, struct rb_sync *s)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < s->sources; i++) {
        if (rb_so_nothing_new(t, &s->few[i]))
            rb_rclock_unref(engine->arena, s->few[i].recent);
        else
            s->few[kept++] = s->few[i];
    }
    s->sources = kept;
}

static bool release_join(struct rb_engine *engine, struct rb_thread *t, struct rb_sync *s)
{
    if (s->sources == 0 || (s->sources == 1 && rb_so_nothing_new(t, &s->one)))
        return release_sync(engine, t, s);
    rb_epoch_step_if_sampled(t);
    t->count.releases_processed++;
    const struct rb_source mine = rb_so_source(t);
    if (s->sources == 1) {
        if (!s->few && !(s->few = rb_arena_alloc(engine->arena, FEW * sizeof(*s->few))))
            return rb_engine_go_blind(engine, t);
        s->few[0] = s->one;
    }
    if (s->sources != RB_JOINED) {
        join_few(engine, t, s);
        if (s->sources < FEW) {
            rb_rclock_ref(t->recent);
            s->few[s->sources++] = mine;
            if (s->sources == 1)
                s->one = mine;
            return false;
        }
        if (!collapse_sources(engine, s))
            return rb_engine_go_blind(engine, t);
    }
    return join_source(engine, &s->joined, &mine) ? false : rb_engine_go_blind(engine, t);
}

static void sync_clear(struct rb_engine *engine, struct rb_sync *s)
{
    drop_sources(engine, s);
    rb_arena_free(engine->arena, s->few, FEW * sizeof(*s->few));
    s->few = NULL;
}

const struct rb_engine_ops rb_so = {
    .name = "so",
    .help = "sampling timestamps on shared clocks ordered by recent change: the default",
    .thread_start = thread_start,
    .thread_stop = thread_stop,
    .knows = knows_sync,
    .acquire = acquire_sync,
    .release = release_sync,
    .release_store = release_sync,
    .release_join = release_join,
    .sync_clear = sync_clear,
    .access = rb_history_access,
    .peek = rb_history_peek,
    .cell_clear = rb_history_clear,
};
