// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table itself: made at start, emptied in the child of a fork, with room made for a new entry.
#include "run/access/history_table.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/pages.h"
#include "run/core/footprint.h"

struct rb_accesses_table rb_accesses_table;
uint32_t rb_accesses_disturbed[RB_DISTURBED];
static bool has_dropped;

int rb_accesses_init(size_t bytes)
{
    size_t count = 64;

    while (count * 2 * sizeof(struct rb_bucket) <= bytes)
        count *= 2;
    rb_accesses_table.buckets = rb_pages_map(count * sizeof(struct rb_bucket));
    if (!rb_accesses_table.buckets)
        return -ENOMEM;
    rb_accesses_table.pages = rb_pages_map(RB_PAGES * sizeof(*rb_accesses_table.pages));
    if (!rb_accesses_table.pages)
        return -ENOMEM;
    rb_accesses_table.bucket_mask = count - 1;
    rb_accesses_table.column_mask = count / RB_ROWS - 1;
    rb_accesses_table.bucket_shift = 64 - (unsigned)__builtin_ctzl(count);
    rb_footprint_map(rb_accesses_table.buckets, count * sizeof(struct rb_bucket));
    rb_accesses_table.lines = rb_pages_map(count * sizeof(*rb_accesses_table.lines));
    if (!rb_accesses_table.lines)
        return -ENOMEM;
    rb_accesses_table.locks = rb_pages_map(count / RB_ROWS * sizeof(*rb_accesses_table.locks));
    if (!rb_accesses_table.locks)
        return -ENOMEM;
    rb_footprint_map(rb_accesses_table.locks, count / RB_ROWS * sizeof(*rb_accesses_table.locks));
    rb_footprint_map(rb_accesses_table.pages, RB_PAGES * sizeof(*rb_accesses_table.pages));
    rb_footprint_table(rb_accesses_table.pages, RB_PAGES * sizeof(*rb_accesses_table.pages));
    rb_footprint_map(rb_accesses_table.lines, count * sizeof(*rb_accesses_table.lines));
    return 0;
}

bool rb_accesses_has_dropped(void)
{
    return rb_load_relaxed(&has_dropped);
}

// Empties the table, while the process has one thread: the pages come back as zeros.
void rb_accesses_reset_after_fork(void)
{
    if (!rb_accesses_table.buckets)
        return;
    madvise(rb_accesses_table.buckets, (rb_accesses_table.bucket_mask + 1) * sizeof(struct rb_bucket),
            MADV_DONTNEED);
    madvise(rb_accesses_table.pages, RB_PAGES * sizeof(*rb_accesses_table.pages), MADV_DONTNEED);
    madvise(rb_accesses_table.lines, (rb_accesses_table.bucket_mask + 1) * sizeof(*rb_accesses_table.lines),
            MADV_DONTNEED);
    madvise(rb_accesses_table.locks, (rb_accesses_table.column_mask + 1) * sizeof(*rb_accesses_table.locks),
            MADV_DONTNEED);
    __builtin_memset(rb_accesses_table.areas, 0, sizeof(rb_accesses_table.areas));
    has_dropped = false;
}

// Returns the place of the bucket's entry that was put in longest ago.
static RB_NOINLINE unsigned evict_entry(struct rb_self *me, struct rb_bucket *b)
{
    const uint8_t now = (uint8_t)(b->live / RB_TICK);
    unsigned victim = 0;

    for (unsigned i = 1; i < RB_ENTRIES; i++)
        if ((uint8_t)(now - b->age[i]) > (uint8_t)(now - b->age[victim]))
            victim = i;
    me->count.dropped++;
    rb_store_relaxed(&has_dropped, true);
    rb_line_disturb(rb_entry_line(b, victim));
    rb_entry_clear(b, victim);
    return victim;
}

static inline bool has_room(const struct rb_bucket *b)
{
    return (b->live & RB_LIVE) != RB_LIVE;
}

// Returns the bucket of the column that takes an entry of a full one: itself, if all are full.
static RB_NOINLINE struct rb_bucket *find_room(struct rb_bucket *home)
{
    for (unsigned row = 1; row < RB_ROWS; row++) {
        struct rb_bucket *b = rb_bucket_row(home, row);
        if (rb_bucket_begin(b, home->generation) && has_room(b)) {
            home->away++;
            if (row > home->farthest)
                home->farthest = (uint16_t)row;
            return b;
        }
    }
    return home;
}

void rb_entry_put(struct rb_self *me, struct rb_bucket *home, uint64_t line, uint64_t epoch, uint64_t where,
                  uint32_t mask)
{
    struct rb_bucket *b = RB_LIKELY(has_room(home)) ? home : find_room(home);
    const unsigned i = RB_LIKELY(has_room(b)) ? (unsigned)__builtin_ctz(~b->live) : evict_entry(me, b);
    uint64_t *const bits = rb_bucket_lines(home), bit = rb_line_bit(line);

    b->live += RB_TICK;
    b->live |= 1u << i;
    b->age[i] = (uint8_t)(b->live / RB_TICK);
    b->tag[i] = (uint32_t)line;
    b->mask[i] = mask;
    b->epoch[i] = epoch | rb_line_high(line);
    b->where[i] = where;
    rb_area_use(rb_line_address(line));
    if (!(rb_load_relaxed(bits) & bit))
        rb_fetch_or_relaxed(bits, bit);
    rb_page_count(line, 1);
}
