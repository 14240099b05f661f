// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The packed event record of .rbt files: bit split, limits, and the checksum. No libc beyond memcpy, so
// that the recording runtime can use it.
//
// 8-byte record                        16-byte record
//   63..58  event code                   word 0: 63..58 code, 57..32 thread, 31..0 location
//   57..    location | thread | target   word 1: target
// In the 8-byte form the widths come from the header: target in the low `target_bits`, thread above it,
// then location. 58 bits hold e.g. 4,096 threads, 67 million variables and a million locations. A trace
// that needs more gets 16-byte records.
//
// The code is on top. So bit 63 means "not an access" and bit 62, of those, "orders nothing" (function
// events, marks). The replay finds the synchronisation in a page with sign-bit moves alone.
#ifndef RB_TRACE_FORMAT_H
#define RB_TRACE_FORMAT_H

#include <string.h>

#include "base/types.h"
#include "railbird/trace.h"

enum rb_op {
#define RB_EVENT(code, NAME, text, space, acquires, releases, rapid) RB_##NAME = code,
#include "trace/events.def"
#undef RB_EVENT
    RB_OPS = 64
};

enum rb_space { RB_SPACE_VARIABLE, RB_SPACE_LOCK, RB_SPACE_THREAD, RB_SPACE_FUNCTION, RB_SPACE_MARK };

struct rb_op_info {
    const char *text; // NULL: no such code
    uint8_t space, acquires, releases, rapid;
};
extern const struct rb_op_info rb_op_info[RB_OPS];
extern const enum rbt_table rb_table_of_space[]; // the table of an event's target

#define RB_FIRST_NON_ACCESS 32u
#define RB_FIRST_QUIET      48u
#define RB_MAX_THREADS      65535u              // engines keep thread numbers in 16 bits
#define RB_MAX_EVENTS       (UINT64_C(1) << 40) // and event numbers in 40
#define RB_MAX_LOCATIONS    (1u << 24)          // and locations in 24: see below

_Static_assert(RB_WRITE < RB_FIRST_NON_ACCESS && RB_ACQUIRE >= RB_FIRST_NON_ACCESS, "bit 63: not an access");
_Static_assert(RB_JOIN < RB_FIRST_QUIET && RB_ENTER >= RB_FIRST_QUIET, "bit 62 of those: orders nothing");
_Static_assert(sizeof(struct rbt_header) <= RBT_PAGE_BYTES, "header fits its page");
_Static_assert(sizeof(struct rbt_page_head) == 16, "page head is two words");
_Static_assert(RBT_OPCODE_SHIFT + 6 == 64, "six bits of code");

struct rb_event {
    uint64_t target;
    uint32_t thread;
    uint32_t location;
    enum rb_op op;
};

// The shape of the records of one file.
struct rb_layout {
    uint8_t record_bytes;
    uint8_t thread_shift, location_shift; // = target_bits, target_bits + thread_bits
    uint64_t target_mask;
    uint32_t thread_mask, location_mask;
};

static inline uint32_t rb_records_per_page(unsigned record_bytes)
{
    return (RBT_PAGE_BYTES - (uint32_t)sizeof(struct rbt_page_head)) / record_bytes;
}

RB_INLINE enum rb_op rb_word_op(uint64_t word)
{
    return (enum rb_op)(word >> RBT_OPCODE_SHIFT);
}

// Decodes a record; `wide` is a compile-time constant in the loops that care.
RB_INLINE struct rb_event rb_unpack(const struct rb_layout *l, const uint64_t *record, bool wide)
{
    const uint64_t w = record[0];
    struct rb_event e;

    e.op = rb_word_op(w);
    if (wide) {
        e.thread = (uint32_t)(w >> 32) & 0x3ffffff;
        e.location = (uint32_t)w;
        e.target = record[1];
    } else {
        e.thread = (uint32_t)(w >> l->thread_shift) & l->thread_mask;
        e.location = (uint32_t)(w >> l->location_shift) & l->location_mask;
        e.target = w & l->target_mask;
    }
    return e;
}

static inline void rb_pack(const struct rb_layout *l, const struct rb_event *e, uint64_t *record)
{
    const uint64_t code = (uint64_t)e->op << RBT_OPCODE_SHIFT;

    if (l->record_bytes == 16) {
        record[0] = code | (uint64_t)e->thread << 32 | e->location;
        record[1] = e->target;
    } else {
        record[0] = code | (uint64_t)e->location << l->location_shift |
                    (uint64_t)e->thread << l->thread_shift | e->target;
    }
}

static inline bool rb_fits(const struct rb_layout *l, const struct rb_event *e)
{
    if (l->record_bytes == 16)
        return e->thread <= 0x3ffffff;
    return e->target <= l->target_mask && e->thread <= l->thread_mask && e->location <= l->location_mask;
}

// Fills `l` from header fields. Returns false if they make no valid layout.
bool rb_layout_set(struct rb_layout *l, unsigned record_bytes, unsigned target_bits, unsigned thread_bits,
                   unsigned location_bits);

// Computes the checksum of records, tables and header: two running sums in each of four lanes, folded by a
// mixing step. Any flipped bit changes it; so does any swap of words. `words` 64-bit words from `data`.
uint64_t rb_sum(const uint64_t *data, size_t words, uint64_t seed);

// ---- the place of an access --------------------------------------------------------------------------------

// The place of an access in one word: reports need it, and the engines only carry it.
//   63..24  event number, below 2^40
//   23..0   location (code location number), below 2^24
// The running program packs a stack number instead. If several earlier accesses race, FastTrack names the one
// with the largest word, which here is the latest.
#define RB_PLACE_LOCATION_BITS 24

static inline uint64_t rb_event_place(uint64_t index, uint32_t location)
{
    return index << RB_PLACE_LOCATION_BITS | location;
}

static inline uint64_t rb_event_place_index(uint64_t where)
{
    return where >> RB_PLACE_LOCATION_BITS;
}

static inline uint32_t rb_event_place_location(uint64_t where)
{
    return (uint32_t)where & ((1u << RB_PLACE_LOCATION_BITS) - 1);
}

#endif
