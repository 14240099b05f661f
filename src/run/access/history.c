// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An access and the entries of its lines: the check for races, the bytes it takes from entries, and the new
// entry.
#include "run/access/history_table.h"
#include "run/core/upcalls.h"

// The part of an access that is in one line.
struct part {
    uint64_t line;
    uint32_t mask;
    uint32_t generation;
    uint64_t own; // the epoch word of its entry, without the line's number
};

// Returns true if this access, which comes after the entry's, conflicts with every access that the entry's
// conflicts with. Both are atomic, or neither is.
static inline bool dominates_entry(const struct rb_memory_access *t, uint64_t epoch)
{
    return (t->write || !rb_epoch_is_write(epoch)) && t->atomic == ((epoch & RB_ENTRY_ATOMIC) != 0);
}

// The place of an entry; NULL: none.
struct place {
    struct rb_bucket *bucket;
    unsigned i;
};

// Puts bytes of an access in: into `same`, which has its epoch and stack; else into `spare`, which is in
// use with no bytes left; else into a new entry.
static inline void put_part(struct rb_self *me, struct rb_bucket *home, const struct part *p, uint64_t where,
                            uint32_t mask, struct place same, struct place spare)
{
    struct rb_bucket *b = spare.bucket;

    if (same.bucket) {
        same.bucket->mask[same.i] |= mask;
    } else if (b && mask) {
        b->live += RB_TICK;
        b->age[spare.i] = (uint8_t)(b->live / RB_TICK);
        b->mask[spare.i] = mask;
        b->epoch[spare.i] = p->own;
        b->where[spare.i] = where;
        return;
    } else if (mask) {
        rb_entry_put(me, home, p->line, p->own, where, mask);
    }
    if (b)
        rb_entry_clear(b, spare.i);
}

// An access on its way through the buckets that may have entries of its line.
struct touching {
    const struct part *part;
    const struct rb_memory_access *touch;
    uint64_t where;
    bool record;
    bool lost;     // the thread may not rely on remembering the access
    uint32_t left; // bytes to put in
    struct place same, spare;
    struct rb_racing best;
};

// Checks the access against the bucket's entries of its line and takes its bytes from those it dominates.
RB_INLINE void touch_bucket(struct rb_self *me, struct rb_bucket *b, struct touching *x)
{
    const struct part *p = x->part;
    const struct rb_memory_access *t = x->touch;

    for (uint32_t m = rb_bucket_tagged(b, p->line); m; m &= m - 1) {
        const unsigned i = (unsigned)__builtin_ctz(m);
        const uint64_t epoch = b->epoch[i];
        const uint32_t common = b->mask[i] & p->mask;
        if (RB_UNLIKELY((epoch ^ p->own) & RB_HIGH))
            continue;
        if (epoch == p->own && b->where[i] == x->where && x->record) {
            x->same = (struct place){b, i};
            continue;
        }
        if (!common)
            continue;
        const bool ordered = rb_ordered(&me->hb, epoch);
        if (RB_UNLIKELY(!ordered) && rb_entry_conflicts(t, epoch))
            rb_racing_consider(b, i, common, &x->best);
        if (!t->write && epoch == (p->own | RB_EPOCH_WRITE))
            x->left &= ~common; // an access that races with the read races with this write
        if (!ordered || !dominates_entry(t, epoch))
            continue;
        x->lost |= !x->record;
        b->mask[i] &= ~common;
        if (b->mask[i])
            continue;
        if (x->spare.bucket)
            rb_entry_clear(b, i);
        else
            x->spare = (struct place){b, i};
    }
}

// Checks the part against the line's entries, takes its bytes from those that it dominates, and puts it in.
// Returns false if the thread may not rely on remembering it.
static bool touch_line(struct rb_self *me, struct rb_bucket *home, const struct part *p,
                       const struct rb_memory_access *t, uint64_t where, bool record, struct rb_hit *hit)
{
    struct touching x = {
        .part = p, .touch = t, .where = where, .record = record, .left = record ? p->mask : 0};

    touch_bucket(me, home, &x);
    for (unsigned row = 1; RB_UNLIKELY(row <= home->farthest); row++) {
        struct rb_bucket *b = rb_bucket_row(home, row);
        if (rb_bucket_begin(b, p->generation))
            touch_bucket(me, b, &x);
    }
    put_part(me, home, p, where, x.left, x.same, x.spare);
    rb_racing_tell(&x.best, p->line, hit);
    x.lost |= x.best.epoch != 0;
    if (RB_UNLIKELY(x.lost))
        rb_line_disturb(p->line);
    return record && !x.lost;
}

// Adds to *known the bytes that the thread has accessed under its current epoch. Returns false if another
// thread's access races with this one.
RB_INLINE bool knows_bucket(const struct rb_self *me, const struct rb_bucket *b, const struct part *p,
                            const struct rb_memory_access *t, uint32_t *known)
{
    for (uint32_t m = rb_bucket_tagged(b, p->line); m; m &= m - 1) {
        const unsigned i = (unsigned)__builtin_ctz(m);
        const uint64_t epoch = b->epoch[i];
        if (RB_UNLIKELY((epoch ^ p->own) & RB_HIGH) || !(b->mask[i] & p->mask))
            continue;
        if (epoch == p->own || epoch == (p->own | RB_EPOCH_WRITE))
            *known |= b->mask[i];
        else if (rb_entry_conflicts(t, epoch) && !rb_ordered(&me->hb, epoch))
            return false;
    }
    return true;
}

static bool knows_line(const struct rb_self *me, const struct rb_bucket *home, const struct part *p,
                       const struct rb_memory_access *t)
{
    uint32_t known = 0;

    if (home->generation != p->generation || !knows_bucket(me, home, p, t, &known))
        return false;
    for (unsigned row = 1; RB_UNLIKELY(row <= home->farthest); row++) {
        const struct rb_bucket *b = rb_bucket_row(home, row);
        if (b->generation == p->generation && !knows_bucket(me, b, p, t, &known))
            return false;
    }
    return (p->mask & ~known) == 0;
}

static inline struct part part_of(const struct rb_self *me, const struct rb_memory_access *t, uintptr_t at,
                                  uintptr_t end, uint32_t generation)
{
    const unsigned first = at & ((1u << RB_LINE_SHIFT) - 1), room = (1u << RB_LINE_SHIFT) - first;
    const uint64_t line = rb_line_of(at);

    return (struct part){line, rb_line_mask(first, end - at < room ? (unsigned)(end - at) : room), generation,
                         rb_own_epoch(&me->hb, t->write) | (t->atomic ? RB_ENTRY_ATOMIC : 0) |
                             rb_line_high(line)};
}

// Adds the part to the thread's memory of its accesses. Under the lock of the line's bucket, so that it is
// true then.
static inline void remember_line(struct rb_self *me, const struct rb_memory_access *t, const struct part *p)
{
    const uintptr_t name = rb_recent_name(t);
    const uint32_t stamp = rb_recent_stamp(t->address, p->generation);

    if (!me->recent)
        return;
    struct rb_recent *r = rb_recent_of(me, t->address);
    if (r->name != name || r->epoch != me->hb.epoch || r->stamp != stamp)
        *r = (struct rb_recent){.name = name, .epoch = me->hb.epoch, .stamp = stamp};
    if (t->write)
        r->written |= p->mask;
    r->known |= p->mask;
}

void rb_accesses_prefetch(uintptr_t address)
{
    const struct rb_bucket *home = rb_bucket_of(address >> RB_LINE_SHIFT);

    __builtin_prefetch(rb_bucket_lock(home), 1);
    __builtin_prefetch(home, 1);
    __builtin_prefetch(home->tag + 12, 1);
    __builtin_prefetch(home->mask + 8, 1);
}

bool rb_accesses_knows(struct rb_self *me, const struct rb_memory_access *t)
{
    const uint32_t generation = rb_load_acquire(&rb_process.generation);
    const struct part p = part_of(me, t, t->address, t->address + t->size, generation);
    bool known = false;

    if (RB_UNLIKELY(p.line == RB_NO_LINE))
        return false;
    const struct rb_bucket *home = rb_bucket_of(p.line);
    rb_spin *lock = rb_bucket_lock(home);
    rb_spin_lock(lock);
    if (knows_line(me, home, &p, t)) {
        known = true;
        remember_line(me, t, &p);
    }
    rb_spin_unlock(lock);
    return known;
}

// Touches one line of an access. The line's bucket is of its generation and locked.
static void touch_part(struct rb_self *me, const struct part *p, const struct rb_memory_access *t,
                       uint64_t where, bool record, struct rb_hit *hit)
{
    struct rb_bucket *home = rb_bucket_of(p->line);
    rb_spin *lock = rb_bucket_lock(home);

    rb_spin_lock(lock);
    if (rb_bucket_begin(home, p->generation) && touch_line(me, home, p, t, where, record, hit) &&
        rb_is_in_line(t))
        remember_line(me, t, p);
    rb_spin_unlock(lock);
}

void rb_accesses_touch(struct rb_self *me, const struct rb_memory_access *t, uint64_t where,
                       struct rb_hit *hit)
{
    const uint32_t generation = rb_load_acquire(&rb_process.generation);
    const uintptr_t end = t->address + t->size;
    const bool record = t->record && me->hb.epoch < RB_EPOCH_TIME_MAX;

    hit->epoch = 0;
    if (RB_UNLIKELY(me->unseen.pending))
        rb_unseen_settle(me);
    if (RB_UNLIKELY(!rb_is_remembered(generation) || me->engine.blind))
        return;
    for (uintptr_t at = t->address; at < end; at = rb_line_next(at)) {
        const struct part p = part_of(me, t, at, end, generation);
        if (RB_LIKELY(p.line != RB_NO_LINE))
            touch_part(me, &p, t, where, record, hit);
    }
    me->hb.sampled |= record;
    rb_hit_believe(hit);
}
