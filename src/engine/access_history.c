// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Source: the exact history of docs/explanation/engines.md; FastTrack (Flanagan and Freund, 2009) for the inline shape.
#include "engine/access_history.h"

#define FIRST_ROOM 4u

struct many {
    uint32_t count, room;
    struct rb_entry entry[]; // oldest first
};

static size_t many_bytes(uint32_t room)
{
    return sizeof(struct many) + room * sizeof(struct rb_entry);
}

static void many_free(struct rb_arena *a, struct many *m)
{
    if (m)
        rb_arena_free(a, m, many_bytes(m->room));
}

// Returns a list with room for one entry more than it has; NULL when memory is out (the old list stays).
static struct many *many_grow(struct rb_arena *a, struct many *m)
{
    const uint32_t room = m ? 2 * m->room : FIRST_ROOM;
    struct many *bigger;

    if (m && m->count < m->room)
        return m;
    bigger = rb_arena_alloc(a, many_bytes(room));
    if (!bigger)
        return NULL;
    bigger->room = room;
    bigger->count = m ? m->count : 0;
    for (uint32_t i = 0; i < bigger->count; i++)
        bigger->entry[i] = m->entry[i];
    many_free(a, m);
    return bigger;
}

void rb_history_clear(struct rb_engine *engine, struct rb_cell *cell)
{
    if (cell->write & RB_EPOCH_MANY)
        many_free(engine->arena, (struct many *)(uintptr_t)cell->write_where);
    *cell = (struct rb_cell){0, 0, 0, 0};
}

// Returns the cell to the inline shape if the list is one of [], [w], [r], [w r].
static void deflate_cell(struct rb_arena *a, struct rb_cell *cell, struct many *m)
{
    struct rb_cell flat = {0, 0, 0, 0};

    for (uint32_t i = 0; i < m->count; i++) {
        const struct rb_entry *e = &m->entry[i];
        if (rb_epoch_is_write(e->epoch)) {
            if (flat.write || flat.read)
                return;
            flat.write = e->epoch;
            flat.write_where = e->where;
        } else {
            if (flat.read)
                return;
            flat.read = e->epoch;
            flat.read_where = e->where;
        }
    }
    many_free(a, m);
    *cell = flat;
}

// Handles the general case, on a list: finds the racing entry to name, drops the entries that this access
// dominates, appends it.
static RB_NOINLINE void access_many(struct rb_engine *engine, struct rb_thread *t, struct rb_cell *cell,
                                    struct rb_access a, bool record, struct rb_partner *partner)
{
    struct many *m = (struct many *)(uintptr_t)cell->write_where;
    struct rb_entry read = {0, 0}, write = {0, 0}; // latest racing ones
    bool last_write_races = false;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < m->count; i++) {
        const struct rb_entry e = m->entry[i];
        const bool ordered = rb_ordered(t, e.epoch), is_write = rb_epoch_is_write(e.epoch);
        if (is_write) {
            last_write_races = !ordered;
            if (!ordered)
                write = e;
        } else if (a.write && !ordered) {
            read = e;
        }
        if (!ordered || (is_write && !a.write))
            m->entry[kept++] = e;
    }
    if (read.epoch && !last_write_races)
        *partner = (struct rb_partner){read.epoch, read.where};
    else if (write.epoch)
        *partner = (struct rb_partner){write.epoch, write.where};
    m->count = kept;
    if (record) {
        struct many *room = many_grow(engine->arena, m);
        if (room) {
            m = room;
            m->entry[m->count++] = (struct rb_entry){rb_own_epoch(t, a.write), a.where};
            t->sampled = true;
        } else {
            t->count.starved++;
        }
    }
    cell->write_where = (uintptr_t)m;
    deflate_cell(engine->arena, cell, m);
}

static RB_NOINLINE void inflate_cell(struct rb_engine *engine, struct rb_thread *t, struct rb_cell *cell)
{
    struct many *m = many_grow(engine->arena, NULL);

    if (!m) { // forget: a race may be missed, none invented
        t->count.starved++;
        *cell = (struct rb_cell){0, 0, 0, 0};
        return;
    }
    if (cell->write)
        m->entry[m->count++] = (struct rb_entry){cell->write, cell->write_where};
    if (cell->read)
        m->entry[m->count++] = (struct rb_entry){cell->read, cell->read_where};
    *cell = (struct rb_cell){RB_EPOCH_MANY, (uintptr_t)m, 0, 0};
}

static RB_NOINLINE void access_slow(struct rb_engine *engine, struct rb_thread *t, struct rb_cell *cell,
                                    struct rb_access a, bool record, struct rb_partner *partner)
{
    if (!(cell->write & RB_EPOCH_MANY))
        inflate_cell(engine, t, cell);
    if (cell->write & RB_EPOCH_MANY)
        access_many(engine, t, cell, a, record, partner);
}

void rb_history_access(struct rb_engine *engine, struct rb_thread *t, struct rb_cell *cell,
                       struct rb_access a, bool record, struct rb_partner *partner)
{
    partner->epoch = 0;
    if (RB_UNLIKELY(engine->blind))
        return;
    record = record && t->epoch < RB_EPOCH_TIME_MAX;
    if (RB_UNLIKELY(cell->write & RB_EPOCH_MANY)) {
        access_slow(engine, t, cell, a, record, partner);
        return;
    }
    const bool after_write = !cell->write || rb_ordered(t, cell->write);
    const bool after_read = !cell->read || rb_ordered(t, cell->read);

    if (RB_UNLIKELY(!after_read || (a.write && !after_write))) { // two entries of a kind must live on
        access_slow(engine, t, cell, a, record, partner);
        return;
    }
    if (a.write) {
        *cell = (struct rb_cell){record ? rb_own_epoch(t, true) : 0, a.where, 0, 0};
    } else {
        if (RB_UNLIKELY(!after_write))
            *partner = (struct rb_partner){cell->write, cell->write_where};
        cell->read = record ? rb_own_epoch(t, false) : 0;
        cell->read_where = a.where;
    }
    t->sampled |= record;
}

void rb_history_peek(const struct rb_engine *engine, const struct rb_thread *t, const struct rb_cell *cell,
                     struct rb_access a, struct rb_partner *partner)
{
    const struct many *m = (const struct many *)(uintptr_t)cell->write_where;
    const struct rb_entry flat[2] = {{cell->write, cell->write_where}, {cell->read, cell->read_where}};
    const bool listed = (cell->write & RB_EPOCH_MANY) != 0;
    const struct rb_entry *entry = listed ? m->entry : flat;
    const uint32_t count = listed ? m->count : 2;

    if (RB_UNLIKELY(engine->blind))
        return;
    for (uint32_t i = 0; i < count; i++)
        if (entry[i].epoch && (a.write || rb_epoch_is_write(entry[i].epoch)) &&
            !rb_ordered(t, entry[i].epoch))
            *partner = (struct rb_partner){entry[i].epoch, entry[i].where};
}
