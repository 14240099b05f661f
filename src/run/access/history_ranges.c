// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranges of the access history: compared with an access, forgotten, moved.
#include "run/access/history_table.h"
#include "run/record/record.h"

// Forgets bytes of an entry.
static void forget_bytes(struct rb_bucket *b, unsigned i, uint32_t mask)
{
    rb_line_disturb(rb_entry_line(b, i));
    b->mask[i] &= ~mask;
    if (!b->mask[i])
        rb_entry_clear(b, i);
}

// A function called for an entry that has bytes of `mask` in the range; the bucket's lock is held.
typedef void (*visit)(struct rb_self *me, struct rb_bucket *b, unsigned i, uint32_t mask, void *context);

static uint32_t mask_between(uint64_t line, uintptr_t from, uintptr_t end)
{
    const uintptr_t start = rb_line_address(line), stop = start + (1u << RB_LINE_SHIFT);

    if (stop <= from || start >= end)
        return 0;
    const unsigned first = from > start ? (unsigned)(from - start) : 0;
    return rb_line_mask(first, (unsigned)((end < stop ? end : stop) - start) - first);
}

// Visits the entries in one bucket of lines that belong to `home`. Returns the bits of the lines left.
static uint64_t visit_row(struct rb_self *me, struct rb_bucket *b, const struct rb_bucket *home,
                          uintptr_t from, uintptr_t end, visit function, void *context)
{
    uint64_t left = 0;

    for (uint32_t m = b->live & RB_LIVE; m; m &= m - 1) {
        const unsigned i = (unsigned)__builtin_ctz(m);
        const uint64_t line = rb_entry_line(b, i);
        if (rb_bucket_of(line) != home)
            continue;
        const uint32_t mask = b->mask[i] & mask_between(line, from, end);
        if (mask)
            function(me, b, i, mask, context);
        if (b->live >> i & 1)
            left |= rb_line_bit(line);
    }
    return left;
}

static void visit_bucket(struct rb_self *me, struct rb_bucket *home, uintptr_t from, uintptr_t end,
                         visit function, void *context)
{
    rb_spin *lock = rb_bucket_lock(home);

    rb_spin_lock(lock);
    uint64_t left = visit_row(me, home, home, from, end, function, context);
    for (unsigned row = 1; row <= home->farthest; row++)
        left |= visit_row(me, rb_bucket_row(home, row), home, from, end, function, context);
    rb_store_relaxed(rb_bucket_lines(home), left);
    rb_spin_unlock(lock);
}

static size_t visit_all(struct rb_self *me, uintptr_t from, uintptr_t end, visit function, void *context)
{
    size_t looked_at = 0;

    for (uint64_t i = 0; i <= rb_accesses_table.bucket_mask; i++)
        if (rb_load_relaxed(&rb_accesses_table.lines[i])) {
            visit_bucket(me, &rb_accesses_table.buckets[i], from, end, function, context);
            looked_at++;
        }
    return looked_at;
}

static size_t visit_page(struct rb_self *me, uintptr_t from, uintptr_t end, visit function, void *context)
{
    size_t looked_at = 0;

    for (uintptr_t at = from; at < end; at = rb_line_next(at)) {
        const uint64_t line = rb_line_of(at);
        if (line == RB_NO_LINE || !(rb_load_relaxed(rb_bucket_lines(rb_bucket_of(line))) & rb_line_bit(line)))
            continue;
        const uintptr_t stop = rb_line_next(at);
        visit_bucket(me, rb_bucket_of(line), at, stop < end ? stop : end, function, context);
        looked_at++;
    }
    return looked_at;
}

// Visits all entries of [from, end): page by page, or bucket by bucket if there are more pages than buckets
// (address space may be reserved by terabytes). Areas, pages and lines without entries are passed over, the
// lines without a lock: a thread that gives memory up has put its entries in before. Returns the number of
// lines looked at.
static size_t visit_range(struct rb_self *me, uintptr_t from, uintptr_t end, visit function, void *context)
{
    const uintptr_t page = (uintptr_t)1 << RB_PAGE_SHIFT, area = (uintptr_t)1 << RB_AREA_SHIFT;
    size_t looked_at = 0;

    if ((end - from) >> RB_PAGE_SHIFT > rb_accesses_table.bucket_mask)
        return visit_all(me, from, end, function, context);
    for (uintptr_t at = from; at < end && at >= from; at = (at | (page - 1)) + 1) {
        if (!rb_area_is_used(at)) {
            at |= area - 1;
            continue;
        }
        if (rb_load_relaxed(rb_page_of(at)) == 0)
            continue;
        const uintptr_t page_end = (at | (page - 1)) + 1, stop = page_end && page_end < end ? page_end : end;
        looked_at += visit_page(me, at, stop, function, context);
    }
    return looked_at;
}

struct check {
    const struct rb_memory_access *touch;
    struct rb_hit *hit;
};

static void check_entry(struct rb_self *me, struct rb_bucket *b, unsigned i, uint32_t mask, void *context)
{
    const struct check *c = context;
    struct rb_racing best = {.epoch = 0};

    if (c->hit->epoch || me->engine.blind || b->generation != rb_load_acquire(&rb_process.generation) ||
        !rb_entry_conflicts(c->touch, b->epoch[i]) || rb_ordered(&me->hb, b->epoch[i]))
        return;
    rb_racing_consider(b, i, mask, &best);
    rb_racing_tell(&best, rb_entry_line(b, i), c->hit);
}

void rb_accesses_check(struct rb_self *me, const struct rb_memory_access *t, struct rb_hit *hit)
{
    struct check check = {t, hit};

    hit->epoch = 0;
    visit_range(me, t->address, t->address + t->size, check_entry, &check);
    rb_hit_believe(hit);
}

static void drop_bytes(struct rb_self *me, struct rb_bucket *b, unsigned i, uint32_t mask, void *context)
{
    (void)me;
    (void)context;
    forget_bytes(b, i, mask);
}

void rb_accesses_forget(struct rb_self *me, uintptr_t from, size_t bytes)
{
    if (!bytes || from + bytes < from)
        return;
    rb_record_forget(me, from, bytes);
    rb_accesses_drop(me, from, bytes);
}

void rb_accesses_drop(struct rb_self *me, uintptr_t from, size_t bytes)
{
    me->count.forgotten += visit_range(me, from, from + bytes, drop_bytes, NULL);
}

// The entries taken out of 8 bytes, to be put in elsewhere.
struct moving {
    uint32_t generation;
    unsigned count;
    uint32_t mask[RB_ENTRIES];
    uint64_t epoch[RB_ENTRIES], where[RB_ENTRIES];
};

static void take_bytes(struct rb_self *me, struct rb_bucket *b, unsigned i, uint32_t mask, void *context)
{
    struct moving *m = context;

    (void)me;
    if (m->count == RB_ENTRIES)
        return;
    if (b->generation == m->generation) {
        m->mask[m->count] = mask;
        m->epoch[m->count] = b->epoch[i] & ~RB_HIGH;
        m->where[m->count++] = b->where[i];
    }
    forget_bytes(b, i, mask);
}

// Returns true if there may be more to move.
static bool move_some(struct rb_self *me, uintptr_t from, uintptr_t to)
{
    struct moving m = {.generation = rb_load_acquire(&rb_process.generation)};
    const unsigned first = from % (1u << RB_LINE_SHIFT), first_new = to % (1u << RB_LINE_SHIFT);
    const uint64_t line = rb_line_of(to);
    struct rb_bucket *b = rb_bucket_of(line);

    visit_bucket(me, rb_bucket_of(rb_line_of(from)), from, from + 8, take_bytes, &m);
    rb_spin_lock(rb_bucket_lock(b));
    if (rb_bucket_begin(b, m.generation))
        for (unsigned i = 0; i < m.count; i++)
            rb_entry_put(me, b, line, m.epoch[i], m.where[i], m.mask[i] >> first << first_new);
    rb_spin_unlock(rb_bucket_lock(b));
    return m.count == RB_ENTRIES;
}

static void move_granule(struct rb_self *me, uintptr_t from, uintptr_t to)
{
    rb_accesses_drop(me, to, 8);
    if (rb_line_of(from) == RB_NO_LINE || rb_line_of(to) == RB_NO_LINE)
        return;
    while (move_some(me, from, to))
        ;
}

void rb_accesses_move(struct rb_self *me, uintptr_t from, uintptr_t to, size_t bytes)
{
    rb_record_forget(me, from, bytes);
    rb_record_forget(me, to, bytes);
    for (size_t i = 0; i < bytes && from != to; i += 8) {
        const size_t at = to > from ? bytes - 8 - i : i;
        move_granule(me, from + at, to + at);
    }
}
