// SO (Efficient Timestamping, algorithm 4) with the local-epoch optimisation: clocks are ordered lists, a
// release hands over a reference, an acquire looks at the entries that changed since it last heard from the
// releaser.
//
// t's own component is kept out of its list: a release passes (list, U_t[t], t, published) and the last two
// stand for the missing entry. So a new local epoch copies nothing, U_t[t] counts changes of the list alone,
// and the common acquire is two scalar comparisons:
//     source.fresh <= U_t[releaser]   the list has nothing new (proposition 5), and
//     source.published <= C_t[releaser].
// Else d = source.fresh - U_t[releaser] changes are new, and they are among the first d nodes (proposition
// 6). Following links costs a cache miss a node at worst, comparing dense times costs a quarter instruction
// an entry: above T / DENSE_SHARE nodes the second way is taken. Same entries, same result.
//
// Several sources (ours; the paper falls back to whole vectors): read-unlock, barrier, semaphore and
// read-modify-write join. The object then holds one source a releasing thread, without those that a newer
// one dominates: if t knows everything v released (both comparisons above hold for t), then whoever acquires
// from t learns what v had to say, because C_t >= C_v.
#include <errno.h>

#include "engine/access_history.h"
#include "engine/vector_sync.h"

#define DENSE_SHARE 16u
#define FIRST_ROOM  4u

static int thread_start(struct rb_engine *engine, struct rb_thread *t)
{
    t->fresh = rb_fresh_new(engine->arena, engine->width);
    t->list = rb_olist_new(engine->arena, engine->width);
    if (!t->fresh || !t->list)
        return -ENOMEM;
    t->epoch = 1;
    t->clock = t->list->time;
    t->clock_size = t->list->size;
    return 0;
}

static void thread_stop(struct rb_engine *engine, struct rb_thread *t)
{
    rb_olist_unref(engine->arena, t->list);
    rb_fresh_free(engine->arena, t->fresh);
    t->list = NULL;
    t->fresh = NULL;
}

RB_INLINE bool nothing_new(const struct rb_thread *t, const struct rb_source *s)
{
    return s->releaser == t->slot || (s->fresh <= rb_fresh_get(t->fresh, s->releaser) &&
                                      s->published <= rb_olist_get(t->list, s->releaser));
}

// Makes t's list its own before the first change of an acquire; false when memory is out.
static bool own_list(struct rb_engine *engine, struct rb_thread *t, uint32_t slots)
{
    bool copied;

    if (!rb_olist_own(engine->arena, &t->list, slots, &copied))
        return false;
    t->count.deep_copies += copied;
    t->clock = t->list->time;
    t->clock_size = t->list->size;
    return true;
}

// One entry that may be new; counts the change.
RB_INLINE bool raise_entry(struct rb_engine *engine, struct rb_thread *t, uint32_t slot, uint32_t time,
                           uint32_t room)
{
    if (slot == t->slot || time <= rb_olist_get(t->list, slot))
        return true;
    if ((t->list->refs > 1 || t->list->size < room) && !own_list(engine, t, room))
        return false;
    rb_olist_set(t->list, slot, time);
    t->changes++;
    return true;
}

static bool raise_linked(struct rb_engine *engine, struct rb_thread *t, const struct rb_olist *seen,
                         uint64_t d, uint32_t room)
{
    const struct rb_olist_link *link = rb_olist_links(seen);
    uint32_t slot = link[seen->size].next;

    for (; d > 0 && slot != seen->size && seen->time[slot] != 0; d--, slot = link[slot].next) {
        t->count.entries_traversed++;
        if (!raise_entry(engine, t, slot, seen->time[slot], room))
            return false;
    }
    return true;
}

static bool raise_dense(struct rb_engine *engine, struct rb_thread *t, const struct rb_olist *seen,
                        uint64_t d, uint32_t room)
{
    t->count.entries_traversed += d < seen->size ? d : seen->size;
    for (uint32_t from = 0; from < seen->size; from += 64) {
        uint64_t rising = rb_olist_rising(t->list, seen, from);
        for (; rising; rising &= rising - 1) {
            const uint32_t slot = from + (uint32_t)__builtin_ctzll(rising);
            if (!raise_entry(engine, t, slot, seen->time[slot], room))
                return false;
        }
    }
    return true;
}

static RB_NOINLINE bool learn(struct rb_engine *engine, struct rb_thread *t, const struct rb_source *s)
{
    const uint32_t room = s->releaser < s->list->size ? s->list->size : s->releaser + 1;
    bool done = true;

    if (!rb_fresh_reserve(engine->arena, &t->fresh, room))
        return rb_engine_go_blind(engine, t);
    t->count.entries_total += s->list->size;
    const uint64_t known = t->fresh->changes[s->releaser];
    if (s->fresh > known) {
        const uint64_t d = s->fresh - known;
        t->fresh->changes[s->releaser] = s->fresh;
        done = d > s->list->size / DENSE_SHARE ? raise_dense(engine, t, s->list, d, room)
                                               : raise_linked(engine, t, s->list, d, room);
    }
    t->count.entries_traversed++; // the releaser's own component
    if (!done || !raise_entry(engine, t, s->releaser, s->published, room))
        return rb_engine_go_blind(engine, t);
    return false;
}

static bool acquire(struct rb_engine *engine, struct rb_thread *t, struct rb_sync *s)
{
    bool skipped = true;

    if (RB_LIKELY(s->sources <= 1)) {
        if (s->sources == 0 || nothing_new(t, &s->one))
            return true;
        return learn(engine, t, &s->one);
    }
    for (uint32_t i = 0; i < s->sources; i++)
        if (!nothing_new(t, &s->many[i]))
            skipped = learn(engine, t, &s->many[i]);
    return skipped;
}

static struct rb_source own_source(const struct rb_thread *t)
{
    return (struct rb_source){t->list, t->changes, t->slot, t->published};
}

static void drop_sources(struct rb_engine *engine, struct rb_sync *s)
{
    if (s->sources == 1)
        rb_olist_unref(engine->arena, s->one.list);
    for (uint32_t i = 0; s->sources > 1 && i < s->sources; i++)
        rb_olist_unref(engine->arena, s->many[i].list);
    s->sources = 0;
}

static bool release(struct rb_engine *engine, struct rb_thread *t, struct rb_sync *s)
{
    if (t->sampled)
        rb_epoch_step(t);
    if (s->sources == 1 && s->one.list == t->list) { // the same list, so the same thread: no reference moves
        if (s->one.fresh == t->changes && s->one.published == t->published)
            return true;
        s->one.fresh = t->changes;
        s->one.published = t->published;
    } else {
        rb_olist_ref(t->list);
        drop_sources(engine, s);
        s->one = own_source(t);
        s->sources = 1;
    }
    t->count.releases_processed++;
    return false;
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

    if (s->sources == 0 || (s->sources == 1 && nothing_new(t, &s->one)))
        return release(engine, t, s);
    if (!grow_sources(engine, s))
        return rb_engine_go_blind(engine, t);
    if (s->sources == 1)
        s->many[0] = s->one;
    if (t->sampled)
        rb_epoch_step(t);
    for (uint32_t i = 0; i < s->sources; i++) {
        if (nothing_new(t, &s->many[i]))
            rb_olist_unref(engine->arena, s->many[i].list);
        else
            s->many[kept++] = s->many[i];
    }
    rb_olist_ref(t->list);
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
    .help = "sampling timestamps on shared ordered lists: the default",
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
