// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table behind the access history (history.h): its layout, the mapping from memory to it, and the
// entries of a bucket. Private to history.c (accesses), history_ranges.c (ranges) and history_table.c (the
// table itself).
#ifndef RB_RUN_ACCESS_HISTORY_TABLE_H
#define RB_RUN_ACCESS_HISTORY_TABLE_H

#include <emmintrin.h>

#include "base/types.h"
#include "run/access/history.h"

#define RB_ENTRIES    20u
#define RB_ROWS       32u // buckets of a column
#define RB_PAGE_SHIFT 12
#define RB_PAGES      (1u << 15)
#define RB_AREA_SHIFT 21 // an area's pages have their counters together

// An entry's first word is the epoch of its access, and in bits that epochs leave free:
//   61      atomic
//   60..48  the upper bits of its line's number, of which `tag` has the lower 32
#define RB_ENTRY_ATOMIC ((uint64_t)1 << 61)
#define RB_HIGH_SHIFT   48
#define RB_HIGH         ((uint64_t)0x1fff << RB_HIGH_SHIFT)

// Lines have numbers below 2^45. Memory of the program is below 2^49; the made-up addresses of descriptors
// (descriptors.c) are 2^49 from 2^54 on, and have the numbers behind those. Other addresses have no line.
#define RB_MEMORY_END ((uintptr_t)1 << 49)
#define RB_MADE_UP    ((uintptr_t)1 << 54)
#define RB_NO_LINE    UINT64_MAX

#define RB_LIVE ((1u << RB_ENTRIES) - 1)
#define RB_TICK (1u << RB_ENTRIES)

// The tags and masks are in front: a search for an absent line reads two cache lines, not eight.
struct rb_bucket {
    uint16_t away;           // entries in other buckets of the column that belong here
    uint16_t farthest;       // the farthest bucket with such entries, by its distance; 0: none
    uint32_t generation;     // of all entries; older than rb_process.generation: all are forgotten
    uint32_t live;           // bit i: entry i is in use; above them a count of all entries put in
    uint8_t age[RB_ENTRIES]; // the lower bits of that count when the entry was put in
    uint32_t tag[RB_ENTRIES];
    uint32_t mask[RB_ENTRIES]; // the bytes of the line
    uint64_t epoch[RB_ENTRIES];
    uint64_t where[RB_ENTRIES];
} __attribute__((aligned(512)));
_Static_assert(sizeof(struct rb_bucket) == 512, "eight cache lines");

extern RB_HIDDEN struct rb_accesses_table {
    struct rb_bucket *buckets;
    rb_spin *locks; // of the columns
    uint64_t bucket_mask, column_mask;
    unsigned bucket_shift; // 64 - the logarithm of the number of buckets
    // a bit, hashed, for each line that may have entries in a bucket; contiguous, because whole pages are
    // read at once
    uint64_t *lines;
    uint32_t *pages; // PAGES counters
    // Areas of 2 MiB that ever had an entry: a bit for each, hashed. Most of a new thread's stack lies in
    // others.
    uint64_t areas[64];
} rb_accesses_table;

static inline uint64_t rb_line_of(uintptr_t address)
{
    if (RB_LIKELY(address < RB_MEMORY_END))
        return address >> RB_LINE_SHIFT;
    return address - RB_MADE_UP < RB_MEMORY_END ? (address - RB_MADE_UP + RB_MEMORY_END) >> RB_LINE_SHIFT
                                                : RB_NO_LINE;
}

static inline uintptr_t rb_line_address(uint64_t line)
{
    const uintptr_t address = line << RB_LINE_SHIFT;

    return address < RB_MEMORY_END ? address : address - RB_MEMORY_END + RB_MADE_UP;
}

static inline uint64_t rb_accesses_mix(uint64_t x)
{
    x *= RB_GOLDEN;
    return x ^ x >> 29;
}

// Returns the bucket of a line. Neighbouring lines have neighbouring buckets, so a page of memory uses few
// pages of the table. Multiples of the golden ratio are evenly spread, so an array fills all buckets alike.
static inline struct rb_bucket *rb_bucket_of(uint64_t line)
{
    const uint64_t page = line >> (RB_PAGE_SHIFT - RB_LINE_SHIFT);

    return &rb_accesses_table.buckets[((page * RB_GOLDEN >> rb_accesses_table.bucket_shift) + line) &
                                      rb_accesses_table.bucket_mask];
}

static inline rb_spin *rb_bucket_lock(const struct rb_bucket *b)
{
    return &rb_accesses_table
                .locks[(uint64_t)(b - rb_accesses_table.buckets) & rb_accesses_table.column_mask];
}

// Returns a bucket of the column. They are far apart, so that memory full of accesses finds room elsewhere.
static inline struct rb_bucket *rb_bucket_row(const struct rb_bucket *b, unsigned row)
{
    return &rb_accesses_table.buckets[((uint64_t)(b - rb_accesses_table.buckets) +
                                       row * (rb_accesses_table.column_mask + 1)) &
                                      rb_accesses_table.bucket_mask];
}

static inline uint64_t *rb_bucket_lines(const struct rb_bucket *b)
{
    return &rb_accesses_table.lines[b - rb_accesses_table.buckets];
}

static inline uint64_t rb_line_bit(uint64_t line)
{
    return (uint64_t)1 << (rb_accesses_mix(line) >> 58);
}

// Counters of neighbouring pages are neighbours.
static inline uint32_t *rb_page_of(uintptr_t address)
{
    const uint64_t page = address >> RB_PAGE_SHIFT & ((1u << (RB_AREA_SHIFT - RB_PAGE_SHIFT)) - 1);

    return &rb_accesses_table
                .pages[((rb_accesses_mix(address >> RB_AREA_SHIFT) >> 20) + page) & (RB_PAGES - 1)];
}

static inline uint64_t *rb_area_of(uintptr_t address, uint64_t *bit)
{
    const uint64_t hash = rb_accesses_mix(address >> RB_AREA_SHIFT) >> 40;

    *bit = (uint64_t)1 << (hash & 63);
    return &rb_accesses_table.areas[hash >> 6 & (RB_LENGTH(rb_accesses_table.areas) - 1)];
}

static inline bool rb_area_is_used(uintptr_t address)
{
    uint64_t bit;
    const uint64_t *word = rb_area_of(address, &bit);

    return rb_load_relaxed(word) & bit;
}

static inline void rb_area_use(uintptr_t address)
{
    uint64_t bit, *word = rb_area_of(address, &bit);

    if (RB_UNLIKELY(!(rb_load_relaxed(word) & bit)))
        rb_fetch_or_relaxed(word, bit);
}

// ---- entries of a bucket: its column's lock is held ----------------------------------------------------

static inline uint64_t rb_line_high(uint64_t line)
{
    return line >> 32 << RB_HIGH_SHIFT;
}

static inline uint64_t rb_entry_line(const struct rb_bucket *b, unsigned i)
{
    return (b->epoch[i] & RB_HIGH) >> RB_HIGH_SHIFT << 32 | b->tag[i];
}

static inline rb_epoch rb_entry_epoch(const struct rb_bucket *b, unsigned i)
{
    return b->epoch[i] & ~(RB_HIGH | RB_ENTRY_ATOMIC);
}

// Returns the entries with the line's tag, a bit each. Few are another line's.
static inline uint32_t rb_bucket_tagged(const struct rb_bucket *b, uint64_t line)
{
    const __m128i *t = (const __m128i *)(const void *)b->tag, tag = _mm_set1_epi32((int)(uint32_t)line);
    const __m128i low =
        _mm_packs_epi32(_mm_cmpeq_epi32(_mm_load_si128(t), tag), _mm_cmpeq_epi32(_mm_load_si128(t + 1), tag));
    const __m128i high = _mm_packs_epi32(_mm_cmpeq_epi32(_mm_load_si128(t + 2), tag),
                                         _mm_cmpeq_epi32(_mm_load_si128(t + 3), tag));
    const __m128i last = _mm_cmpeq_epi32(_mm_load_si128(t + 4), tag);

    return ((uint32_t)_mm_movemask_epi8(_mm_packs_epi16(low, high)) |
            (uint32_t)_mm_movemask_ps(_mm_castsi128_ps(last)) << 16) &
           b->live & RB_LIVE;
}
_Static_assert(RB_ENTRIES == 20, "five vectors of tags");

static inline void rb_page_count(uint64_t line, uint32_t change)
{
    rb_fetch_add_relaxed(rb_page_of(rb_line_address(line)), change);
}

// Voids the threads' memory of the line (struct rb_recent).
static inline void rb_line_disturb(uint64_t line)
{
    rb_fetch_add_relaxed(&rb_accesses_disturbed[rb_line_hash(rb_line_address(line))], 1);
}

static inline void rb_entry_clear(struct rb_bucket *b, unsigned i)
{
    const uint64_t line = rb_entry_line(b, i);
    struct rb_bucket *home = rb_bucket_of(line);

    if (RB_UNLIKELY(home != b) && --home->away == 0)
        home->farthest = 0;
    rb_page_count(line, (uint32_t)-1);
    b->live &= ~(1u << i);
}

// Returns false if the bucket is of a later generation. Removes its entries of earlier ones.
static inline bool rb_bucket_begin(struct rb_bucket *b, uint32_t generation)
{
    if (RB_LIKELY(b->generation == generation))
        return true;
    if ((int32_t)(b->generation - generation) > 0)
        return false;
    for (uint32_t left = b->live & RB_LIVE; left; left &= left - 1)
        rb_entry_clear(b, (unsigned)__builtin_ctz(left));
    b->generation = generation;
    return true;
}

// Puts an entry in. The bucket is the line's own, and of the entry's generation.
RB_HIDDEN void rb_entry_put(struct rb_self *me, struct rb_bucket *home, uint64_t line, uint64_t epoch,
                            uint64_t where, uint32_t mask);

// ---- entries compared with an access -------------------------------------------------------------------

static inline uint32_t rb_line_mask(unsigned first, unsigned bytes)
{
    return (uint32_t)((((uint64_t)1 << bytes) - 1) << first);
}

// Returns true if an entry's access, which is not ordered before this one, conflicts with it.
static inline bool rb_entry_conflicts(const struct rb_memory_access *t, uint64_t epoch)
{
    return (t->write || rb_epoch_is_write(epoch)) && !(t->atomic && (epoch & RB_ENTRY_ATOMIC));
}

// The racing entry to name: the last write, else the last read.
struct rb_racing {
    rb_epoch epoch; // 0: none
    uint64_t where;
    uint32_t common;
    uint8_t age;
    bool atomic;
};

static inline void rb_racing_consider(const struct rb_bucket *b, unsigned i, uint32_t common,
                                      struct rb_racing *best)
{
    const rb_epoch epoch = rb_entry_epoch(b, i);
    const uint8_t now = (uint8_t)(b->live / RB_TICK), age = (uint8_t)(now - b->age[i]);
    const bool write = rb_epoch_is_write(epoch), other = rb_epoch_is_write(best->epoch);

    if (!best->epoch || (write == other ? age < best->age : write))
        *best = (struct rb_racing){epoch, b->where[i], common, age, (b->epoch[i] & RB_ENTRY_ATOMIC) != 0};
}

static inline void rb_racing_tell(const struct rb_racing *best, uint64_t line, struct rb_hit *hit)
{
    if (RB_UNLIKELY(best->epoch) && !hit->epoch)
        *hit = (struct rb_hit){rb_line_address(line) + (unsigned)__builtin_ctz(best->common), best->epoch,
                               best->where, best->atomic};
}

static inline uintptr_t rb_line_next(uintptr_t at)
{
    return (at | ((1u << RB_LINE_SHIFT) - 1)) + 1;
}

// Drops the race if the runtime is off: then the synchronisation of some thread goes unseen (thread.c).
static inline void rb_hit_believe(struct rb_hit *hit)
{
    if (RB_UNLIKELY(hit->epoch) && !rb_load_seq_cst(&rb_process.on))
        hit->epoch = 0;
}

#endif
