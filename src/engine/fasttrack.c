// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// FastTrack (Flanagan and Freund, 2009): DJIT+'s order. A variable has its last write as an epoch, and its
// reads as an epoch that inflates to a vector. It is exact up to the first race on a variable; afterwards a
// racing write overwrites the access that it raced with.
//
// The cell's `write` is always an epoch here; `read` is an epoch, or RB_EPOCH_MANY with the readers in
// `read_where`. FastTrack's vector of T entries is mostly empty. Ours is a small table probed by slot: as
// fast to index, and only as long as the variable has readers. Free entries have epoch 0. The size of the
// table is in the cell (the low bits of `read`), so that a read touches one line of it.
#include "engine/access_history.h"
#include "engine/vector_sync.h"

#define FIRST_LOG 3u

static struct rb_entry *reader_table(const struct rb_cell *cell)
{
    return (struct rb_entry *)(uintptr_t)cell->read_where;
}

// Entries of the table. One more entry, at `room`, has the number of used entries in its `where`.
static uint32_t readers_room(const struct rb_cell *cell)
{
    return 1u << (uint32_t)cell->read;
}

static size_t readers_bytes(uint32_t room)
{
    return ((size_t)room + 1) * sizeof(struct rb_entry);
}

// Returns the entry of a slot, or the free entry where it belongs.
RB_INLINE struct rb_entry *reader_of(struct rb_entry *table, uint32_t room, uint32_t slot)
{
    uint32_t i = slot & (room - 1);

    while (table[i].epoch && rb_epoch_slot(table[i].epoch) != slot)
        i = (i + 1) & (room - 1);
    return &table[i];
}

static void drop_reads(struct rb_engine *engine, struct rb_cell *cell)
{
    if (cell->read & RB_EPOCH_MANY)
        rb_arena_free(engine->arena, reader_table(cell), readers_bytes(readers_room(cell)));
    cell->read = 0;
}

// Makes a first table with the only reader so far, or one of twice the room. Returns false when memory is
// out.
static RB_NOINLINE bool grow_readers(struct rb_engine *engine, struct rb_cell *cell)
{
    const bool first = !(cell->read & RB_EPOCH_MANY);
    const uint32_t log = first ? FIRST_LOG : (uint32_t)cell->read + 1, room = 1u << log;
    struct rb_entry *table = rb_arena_zalloc(engine->arena, readers_bytes(room));

    if (!table)
        return false;
    if (first) {
        *reader_of(table, room, rb_epoch_slot(cell->read)) = (struct rb_entry){cell->read, cell->read_where};
        table[room].where = 1;
    } else {
        const struct rb_entry *old = reader_table(cell);
        for (uint32_t i = 0; i < room / 2; i++)
            if (old[i].epoch)
                *reader_of(table, room, rb_epoch_slot(old[i].epoch)) = old[i];
        table[room].where = old[room / 2].where;
        drop_reads(engine, cell);
    }
    cell->read = RB_EPOCH_MANY | log;
    cell->read_where = (uintptr_t)table;
    return true;
}

// Sets this thread's entry: [READ SHARE] and [READ SHARED].
static void read_shared(struct rb_engine *engine, struct rb_thread *t, struct rb_cell *cell, uint64_t where)
{
    if (!(cell->read & RB_EPOCH_MANY) && !grow_readers(engine, cell)) {
        t->count.starved++;
        return;
    }
    struct rb_entry *mine = reader_of(reader_table(cell), readers_room(cell), t->slot);
    if (RB_UNLIKELY(!mine->epoch)) {
        uint64_t *count = &reader_table(cell)[readers_room(cell)].where;
        if (2 * *count >= readers_room(cell)) {
            if (!grow_readers(engine, cell)) {
                t->count.starved++;
                return;
            }
            mine = reader_of(reader_table(cell), readers_room(cell), t->slot);
            count = &reader_table(cell)[readers_room(cell)].where;
        }
        ++*count;
    }
    *mine = (struct rb_entry){rb_own_epoch(t, false), where};
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
        if (record) // PACER leaves the readers as they are
            read_shared(engine, t, cell, where);
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
        return;                                    // [WRITE SAME EPOCH]
    if (RB_UNLIKELY(cell->read & RB_EPOCH_MANY)) { // [WRITE SHARED]
        const struct rb_entry *table = reader_table(cell);
        for (uint32_t i = 0; i < readers_room(cell); i++)
            if (table[i].epoch && !rb_ordered(t, table[i].epoch) && table[i].where >= partner->where)
                *partner = (struct rb_partner){table[i].epoch, table[i].where};
        drop_reads(engine, cell);
    } else if (cell->read && !rb_ordered(t, cell->read)) {
        *partner = (struct rb_partner){cell->read, cell->read_where};
    }
    if (cell->write && !rb_ordered(t, cell->write))
        *partner = (struct rb_partner){cell->write, cell->write_where};
    cell->write = record ? mine : 0;
    cell->write_where = where;
    if (!record)
        drop_reads(engine, cell); // PACER: nothing before an unsampled write begins a shortest race
}

static void check_access(struct rb_engine *engine, struct rb_thread *t, struct rb_cell *cell,
                         struct rb_access a, bool record, struct rb_partner *partner)
{
    *partner = (struct rb_partner){0, 0};
    if (RB_UNLIKELY(engine->blind))
        return;
    record = record && t->epoch < RB_EPOCH_TIME_MAX;
    t->sampled |= record;
    if (a.write)
        write_access(engine, t, cell, a.where, record, partner);
    else
        read_access(engine, t, cell, a.where, record, partner);
}

static void peek_cell(const struct rb_engine *engine, const struct rb_thread *t, const struct rb_cell *cell,
                      struct rb_access a, struct rb_partner *partner)
{
    if (RB_UNLIKELY(engine->blind))
        return;
    if (cell->read & RB_EPOCH_MANY) {
        const struct rb_entry *table = reader_table(cell);
        for (uint32_t i = 0; a.write && i < readers_room(cell); i++)
            if (table[i].epoch && !rb_ordered(t, table[i].epoch))
                *partner = (struct rb_partner){table[i].epoch, table[i].where};
    } else if (a.write && cell->read && !rb_ordered(t, cell->read)) {
        *partner = (struct rb_partner){cell->read, cell->read_where};
    }
    if (cell->write && !rb_ordered(t, cell->write))
        *partner = (struct rb_partner){cell->write, cell->write_where};
}

static void cell_clear(struct rb_engine *engine, struct rb_cell *cell)
{
    drop_reads(engine, cell);
    *cell = (struct rb_cell){0, 0, 0, 0};
}

const struct rb_engine_ops rb_fasttrack = {
    .name = "fasttrack",
    .help = "FastTrack: whole vector clocks, epochs for variables",
    .every_release = true,
    .thread_start = rb_vector_thread_start,
    .thread_stop = rb_vector_thread_stop,
    .acquire = rb_vector_acquire,
    .release = rb_vector_release,
    .release_store = rb_vector_release,
    .release_join = rb_vector_release_join,
    .sync_clear = rb_vector_sync_clear,
    .access = check_access,
    .peek = peek_cell,
    .cell_clear = cell_clear,
};
