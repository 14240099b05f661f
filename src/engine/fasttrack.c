// FastTrack (Flanagan and Freund, 2009): DJIT+'s order; of each variable the last write as an epoch and the
// reads as an epoch that inflates to a vector. Exact up to the first race on a variable; afterwards a racing
// write overwrites what it raced with.
//
// The cell's `write` is always an epoch here; `read` is an epoch, or RB_EPOCH_MANY with the readers in
// `read_where`. FastTrack's vector of T entries is mostly empty: ours is a small table probed by slot, as
// quick to index and as long as the variable has readers. Free entries have epoch 0.
#include "engine/access_history.h"
#include "engine/vector_sync.h"

static bool release(struct rb_engine *engine, struct rb_thread *t, struct rb_sync *s)
{
    return rb_vector_release(engine, t, s, true);
}

static bool release_join(struct rb_engine *engine, struct rb_thread *t, struct rb_sync *s)
{
    return rb_vector_release_join(engine, t, s, true);
}

struct readers {
    uint32_t count, room; // room: a power of two, more than count
    struct rb_entry entry[];
};

#define FIRST_ROOM 8u

static struct readers *readers(const struct rb_cell *cell)
{
    return (struct readers *)(uintptr_t)cell->read_where;
}

static size_t readers_bytes(uint32_t room)
{
    return sizeof(struct readers) + room * sizeof(struct rb_entry);
}

static struct readers *readers_new(struct rb_arena *a, uint32_t room)
{
    struct readers *r = rb_arena_zalloc(a, readers_bytes(room));

    if (r)
        r->room = room;
    return r;
}

// The entry of a slot, or the free one where it belongs.
static struct rb_entry *reader_of(struct readers *r, uint32_t slot)
{
    uint32_t i = slot & (r->room - 1);

    while (r->entry[i].epoch && rb_epoch_slot(r->entry[i].epoch) != slot)
        i = (i + 1) & (r->room - 1);
    return &r->entry[i];
}

static void put_reader(struct readers *r, struct rb_entry e)
{
    struct rb_entry *to = reader_of(r, rb_epoch_slot(e.epoch));

    r->count += to->epoch == 0;
    *to = e;
}

// Twice the room; NULL when memory is out (the old table stays).
static RB_NOINLINE struct readers *grow_readers(struct rb_arena *a, struct readers *r)
{
    struct readers *bigger = readers_new(a, 2 * r->room);

    if (!bigger)
        return NULL;
    for (uint32_t i = 0; i < r->room; i++)
        if (r->entry[i].epoch)
            put_reader(bigger, r->entry[i]);
    rb_arena_free(a, r, readers_bytes(r->room));
    return bigger;
}

static void drop_reads(struct rb_engine *engine, struct rb_cell *cell)
{
    if (cell->read & RB_EPOCH_MANY)
        rb_arena_free(engine->arena, readers(cell), readers_bytes(readers(cell)->room));
    cell->read = 0;
}

// [READ SHARE]: a second reader not ordered after the first.
static RB_NOINLINE bool share(struct rb_engine *engine, struct rb_cell *cell)
{
    struct readers *r = readers_new(engine->arena, FIRST_ROOM);

    if (!r)
        return false;
    put_reader(r, (struct rb_entry){cell->read, cell->read_where});
    cell->read = RB_EPOCH_MANY;
    cell->read_where = (uintptr_t)r;
    return true;
}

// [READ SHARED]: sets this thread's entry; without `record` (PACER) the entry stays as it is.
static void read_shared(struct rb_engine *engine, struct rb_thread *t, struct rb_cell *cell, uint64_t where,
                        bool record)
{
    struct readers *r;

    if (!record)
        return;
    if (!(cell->read & RB_EPOCH_MANY) && !share(engine, cell)) {
        t->count.starved++;
        return;
    }
    r = readers(cell);
    if (RB_UNLIKELY(2 * r->count >= r->room)) {
        struct readers *bigger = grow_readers(engine->arena, r);
        if (!bigger) {
            t->count.starved++;
            return;
        }
        cell->read_where = (uintptr_t)bigger;
        r = bigger;
    }
    put_reader(r, (struct rb_entry){rb_own_epoch(t, false), where});
}

static void read_access(struct rb_engine *engine, struct rb_thread *t, struct rb_cell *cell, uint64_t where,
                        bool record, struct rb_partner *partner)
{
    const rb_epoch mine = rb_own_epoch(t, false);

    if (cell->read == mine && record)
        return; // [READ SAME EPOCH]
    if (cell->write && !rb_ordered(t, cell->write))
        *partner = (struct rb_partner){cell->write, cell->write_where};
    if (RB_UNLIKELY(cell->read & RB_EPOCH_MANY) || (cell->read && !rb_ordered(t, cell->read))) {
        read_shared(engine, t, cell, where, record);
    } else { // [READ EXCLUSIVE]
        cell->read = record ? mine : 0;
        cell->read_where = where;
    }
}

static void write_access(struct rb_engine *engine, struct rb_thread *t, struct rb_cell *cell, uint64_t where,
                         bool record, struct rb_partner *partner)
{
    const rb_epoch mine = rb_own_epoch(t, true);

    if (cell->write == mine && record)
        return; // [WRITE SAME EPOCH]
    if (cell->write && !rb_ordered(t, cell->write))
        *partner = (struct rb_partner){cell->write, cell->write_where};
    if (RB_UNLIKELY(cell->read & RB_EPOCH_MANY)) { // [WRITE SHARED]
        const struct readers *r = readers(cell);
        for (uint32_t i = 0; i < r->room; i++)
            if (r->entry[i].epoch && !rb_ordered(t, r->entry[i].epoch))
                *partner = (struct rb_partner){r->entry[i].epoch, r->entry[i].where};
        drop_reads(engine, cell);
    } else if (cell->read && !rb_ordered(t, cell->read)) {
        *partner = (struct rb_partner){cell->read, cell->read_where};
    }
    cell->write = record ? mine : 0;
    cell->write_where = where;
    if (!record)
        drop_reads(engine, cell); // PACER: nothing before an unsampled write begins a shortest race
}

static void access(struct rb_engine *engine, struct rb_thread *t, struct rb_cell *cell, struct rb_access a,
                   bool record, struct rb_partner *partner)
{
    partner->epoch = 0;
    if (RB_UNLIKELY(engine->blind))
        return;
    record = record && t->epoch < RB_EPOCH_TIME_MAX;
    t->sampled |= record;
    if (a.write)
        write_access(engine, t, cell, a.where, record, partner);
    else
        read_access(engine, t, cell, a.where, record, partner);
}

static void cell_clear(struct rb_engine *engine, struct rb_cell *cell)
{
    drop_reads(engine, cell);
    *cell = (struct rb_cell){0, 0, 0, 0};
}

const struct rb_engine_ops rb_fasttrack = {
    .name = "fasttrack",
    .help = "FastTrack: whole vector clocks, epochs for variables",
    .thread_start = rb_vector_thread_start,
    .thread_stop = rb_vector_thread_stop,
    .acquire = rb_vector_acquire,
    .release = release,
    .release_store = release,
    .release_join = release_join,
    .sync_clear = rb_vector_sync_clear,
    .access = access,
    .cell_clear = cell_clear,
};
