// SO (Efficient Timestamping, algorithm 4) with the local-epoch optimisation: a release hands over a reference
// to the thread's clock, an acquire looks at the parts of it that changed since it last heard from the
// releaser.
//
// t's own component is kept out of its clock: a release passes (clock, version, t, published) and the last
// two stand for the missing entry. So a new local epoch copies nothing, the version (U_t[t] in the paper)
// grows with changes of the clock alone, and the common acquire is two scalar comparisons:
//     source.version <= U_t[releaser]   the clock has nothing new (proposition 5), and
//     source.published <= C_t[releaser].
// Else the blocks stamped after U_t[releaser] are joined (clock/recent_clock.h: where the paper walks the first d
// nodes of a list, we look at recently changed blocks). An entry for t itself may come along in a block: it
// is at most t's published, never used, and does not count as a change.
//
// Several sources (ours; the paper falls back to whole vectors): read-unlock, barrier, semaphore and
// read-modify-write join. The object then holds one source a releasing thread, without those that a newer
// one dominates: if t knows everything v released (both comparisons above hold for t), then whoever acquires
// from t learns what v had to say, because C_t >= C_v.
#include <errno.h>

#include "engine/access_history.h"
#include "engine/so_fast.h"

#define FIRST_ROOM 4u
#define ONE_PASS   (64 * RB_RCLOCK_BLOCK) // slots of clocks that are copied and joined at once

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
    rb_rclock_unref(engine->arena, t->recent);
    rb_fresh_free(engine->arena, t->fresh);
    t->recent = NULL;
    t->fresh = NULL;
}

// Makes t's clock its own before a change; false when memory is out.
static bool own_clock(struct rb_engine *engine, struct rb_thread *t, uint32_t slots)
{
    bool copied;

    if (RB_LIKELY(t->recent->refs == 1 && slots <= t->recent->size))
        return true;
    if (!rb_rclock_own(engine->arena, &t->recent, slots, &copied))
        return false;
    t->count.deep_copies += copied;
    t->clock = t->recent->time;
    t->clock_size = t->recent->size;
    return true;
}

// Which of 64 blocks from `first` changed after `known`, one bit each. No branches: each is a coin toss.
RB_INLINE uint64_t recent_blocks(const struct rb_rclock *seen, uint32_t first, uint64_t known)
{
    const uint64_t *stamps = rb_rclock_stamps(seen) + first;
    const uint32_t blocks = seen->size / RB_RCLOCK_BLOCK - first, n = blocks < 64 ? blocks : 64;
    uint64_t mask = 0;

    for (uint32_t b = 0; b < n; b++)
        mask |= (uint64_t)(stamps[b] > known) << b;
    return mask;
}

// Which of those have something new for t, its own entry aside.
RB_INLINE uint64_t rising_blocks(struct rb_thread *t, const struct rb_rclock *seen, uint32_t first,
                                 uint64_t recent)
{
    const struct rb_rclock *have = t->recent;
    const uint32_t own_block = t->slot / RB_RCLOCK_BLOCK - first;
    const unsigned own = 1u << t->slot % RB_RCLOCK_BLOCK;
    uint64_t mask = 0, looked = 0;

    for (; recent; recent &= recent - 1, looked += RB_RCLOCK_BLOCK) {
        const unsigned b = (unsigned)__builtin_ctzll(recent);
        const unsigned rising = rb_rclock_rising(have, seen, first + b);
        mask |= (uint64_t)((rising & ~(b == own_block ? own : 0)) != 0) << b;
    }
    t->count.entries_traversed += looked;
    return mask;
}

// Joins the blocks of `seen` that changed after `known`. What changes is stamped `version`; *changed says
// whether anything did. False when memory is out.
static bool join_recent(struct rb_engine *engine, struct rb_thread *t, const struct rb_rclock *seen,
                        uint64_t known, uint64_t version, bool *changed)
{
    for (uint32_t first = 0; first < seen->size / RB_RCLOCK_BLOCK; first += 64) {
        const uint64_t rising = rising_blocks(t, seen, first, recent_blocks(seen, first, known));
        if (!rising)
            continue;
        *changed = true;
        if (RB_LIKELY(t->recent->refs > 1 && seen->size == t->recent->size && seen->size <= ONE_PASS)) {
            if (!rb_rclock_join_copy(engine->arena, &t->recent, seen, rising, version))
                return false;
            t->count.deep_copies++;
            t->clock = t->recent->time;
            continue;
        }
        if (!own_clock(engine, t, seen->size))
            return false;
        rb_rclock_join_blocks(t->recent, seen, first, rising, version);
    }
    return true;
}

static RB_NOINLINE bool learn(struct rb_engine *engine, struct rb_thread *t, const struct rb_source *s)
{
    const uint32_t room = s->releaser < s->recent->size ? s->recent->size : s->releaser + 1;
    const uint64_t version = t->version + 1;
    bool changed = false;

    if (!rb_fresh_reserve(engine->arena, &t->fresh, room))
        return rb_engine_go_blind(engine, t);
    t->count.entries_total += s->recent->size;
    const uint64_t known = t->fresh->changes[s->releaser];
    if (s->version > known) {
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

bool rb_so_acquire_slow(struct rb_engine *engine, struct rb_thread *t, struct rb_sync *s)
{
    bool skipped = true;

    if (RB_LIKELY(s->sources == 1))
        return learn(engine, t, &s->one);
    for (uint32_t i = 0; i < s->sources; i++)
        if (!rb_so_nothing_new(t, &s->many[i]))
            skipped = learn(engine, t, &s->many[i]);
    return skipped;
}

static bool acquire(struct rb_engine *engine, struct rb_thread *t, struct rb_sync *s)
{
    return rb_so_acquire(engine, t, s);
}

static struct rb_source own_source(const struct rb_thread *t)
{
    return (struct rb_source){t->recent, t->version, t->slot, t->published};
}

static void drop_sources(struct rb_engine *engine, struct rb_sync *s)
{
    if (s->sources == 1)
        rb_rclock_unref(engine->arena, s->one.recent);
    for (uint32_t i = 0; s->sources > 1 && i < s->sources; i++)
        rb_rclock_unref(engine->arena, s->many[i].recent);
    s->sources = 0;
}

// The object held something else: this thread's release takes its place. The epoch has been stepped.
bool rb_so_release_slow(struct rb_engine *engine, struct rb_thread *t, struct rb_sync *s)
{
    rb_rclock_ref(t->recent);
    drop_sources(engine, s);
    s->one = own_source(t);
    s->sources = 1;
    t->count.releases_processed++;
    return false;
}

static bool release(struct rb_engine *engine, struct rb_thread *t, struct rb_sync *s)
{
    return rb_so_release(engine, t, s);
}

// Room for one source more in `many`; false when memory is out.
static bool grow_sources(struct rb_engine *engine, struct rb_sync *s)
{
    struct rb_source *bigger;
    const uint32_t room = s->room ? 2 * s->room : FIRST_ROOM;

    if (s->sources < s->room)
        return true;
    bigger = rb_arena_alloc(engine->arena, room * sizeof(*bigger));
    if (!bigger)
        return false;
    for (uint32_t i = 0; s->sources > 1 && i < s->sources; i++)
        bigger[i] = s->many[i];
    rb_arena_free(engine->arena, s->many, s->room * sizeof(*bigger));
    s->many = bigger;
    s->room = room;
    return true;
}

static bool release_join(struct rb_engine *engine, struct rb_thread *t, struct rb_sync *s)
{
    uint32_t kept = 0;

    if (s->sources == 0 || (s->sources == 1 && rb_so_nothing_new(t, &s->one)))
        return release(engine, t, s);
    if (!grow_sources(engine, s))
        return rb_engine_go_blind(engine, t);
    if (s->sources == 1)
        s->many[0] = s->one;
    rb_epoch_step_if_sampled(t);
    for (uint32_t i = 0; i < s->sources; i++) {
        if (rb_so_nothing_new(t, &s->many[i]))
            rb_rclock_unref(engine->arena, s->many[i].recent);
        else
            s->many[kept++] = s->many[i];
    }
    rb_rclock_ref(t->recent);
    s->many[kept++] = own_source(t);
    s->sources = kept;
    if (kept == 1)
        s->one = s->many[0];
    t->count.releases_processed++;
    return false;
}

static void sync_clear(struct rb_engine *engine, struct rb_sync *s)
{
    drop_sources(engine, s);
    rb_arena_free(engine->arena, s->many, s->room * sizeof(*s->many));
    s->many = NULL;
    s->room = 0;
}

const struct rb_engine_ops rb_so = {
    .name = "so",
    .help = "sampling timestamps on shared clocks ordered by recent change: the default",
    .thread_start = thread_start,
    .thread_stop = thread_stop,
    .acquire = acquire,
    .release = release,
    .release_store = release,
    .release_join = release_join,
    .sync_clear = sync_clear,
    .access = rb_history_access,
    .cell_clear = rb_history_clear,
};
