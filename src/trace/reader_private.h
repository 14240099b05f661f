// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shared by reader.c (pages, names) and reader_open.c (header, recovery).
#ifndef RB_TRACE_READER_PRIVATE_H
#define RB_TRACE_READER_PRIVATE_H

#include "trace/reader.h"

enum { RB_PAGE_WORDS = RBT_PAGE_BYTES / 8, RB_HEAD_WORDS = 2, RB_AREA_WORDS = RB_PAGE_WORDS - RB_HEAD_WORDS };

extern const char *const rb_table_words[RBT_TABLES]; // "threads", ...

// Returns a mask: bit `code` is set if such events exist.
static inline uint64_t rb_known_codes(void)
{
    return 0
#define RB_EVENT(code, NAME, text, space, acquires, releases, rapid) | UINT64_C(1) << code
#include "trace/events.def"
#undef RB_EVENT
        ;
}

// Returns true if the mark and the checksum of a page are right.
static inline bool rb_page_sum_good(const uint64_t *page, uint64_t index)
{
    struct rbt_page_head head;

    memcpy(&head, page, sizeof(head));
    return head.magic == RBT_PAGE_MAGIC && head.sum == rb_sum(page + RB_HEAD_WORDS, RB_AREA_WORDS, index + 1);
}

static inline uint64_t *rb_reader_slot(const struct rb_reader *r, uint64_t slot)
{
    return (uint64_t *)(void *)(r->buffer + slot * RBT_PAGE_BYTES);
}

// Reads all of `bytes`, or fails.
int rb_reader_read(const struct rb_reader *r, void *data, uint64_t bytes, uint64_t offset,
                   struct rb_error *e);

#endif
