// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/*
 * The .rbt trace file, version 1: what is on disk, for anyone who reads or writes such files.
 * The text that goes with these structures is docs/reference/trace-format.md. All integers are little-endian.
 *
 *   offset 0          struct rbt_header, padded to one page
 *   page 1 + i / R    struct rbt_page_head and R records; event i is record i % R of it
 *   after the pages   the tables (names), then nothing
 *
 * R is 510 for 8-byte records and 255 for 16-byte records: event i is at a computed offset.
 */
#ifndef RAILBIRD_TRACE_H
#define RAILBIRD_TRACE_H

#include <stdint.h>

#define RBT_MAGIC        "RAILBIRD"
#define RBT_VERSION      1u
#define RBT_PAGE_BYTES   4096u
#define RBT_PAGE_MAGIC   0x50544252u /* "RBTP" */
#define RBT_OPCODE_SHIFT 58

/* Tables, in the order in which they are stored. */
enum rbt_table { RBT_THREADS, RBT_LOCKS, RBT_VARIABLES, RBT_LOCATIONS, RBT_FUNCTIONS, RBT_MARKS, RBT_TABLES };

enum rbt_flag {
    RBT_FINISHED = 1, /* the writer closed the file: counts and tables are final */
    RBT_LENIENT = 2   /* some release had no matching acquire; the writer was told to keep it */
};

/* The most entries a table without names may claim in a file of n events: what a reader allocates stays in
 * proportion to the file it was given. */
#define RBT_MAX_UNNAMED(n) ((UINT64_C(1) << 24) + 4 * (uint64_t)(n))

/* A table without names has `bytes` 0: entry i is then called T0, L7, V12, 5 (location), F3, mark(2).
 * Tables with names follow the last page in the order of enum rbt_table, then the aliases; each starts at a
 * multiple of 8, the gap before it zero. The file ends, so padded, with the last of them. */
struct rbt_table_head {
    uint64_t count;  /* entries */
    uint64_t offset; /* in the file, of the first name; 0 without names */
    uint64_t bytes;  /* of names: each is a LEB128 length and that many bytes */
    uint64_t sum;    /* checksum of those bytes, zero-padded to 8, seed 0; 0 without names */
};

struct rbt_header {
    char magic[8];
    uint32_t version;
    uint32_t flags;        /* enum rbt_flag */
    uint32_t record_bytes; /* 8 or 16 */
    uint8_t target_bits;   /* 8-byte records: width of each field; the sum is at most 58 */
    uint8_t thread_bits;
    uint8_t location_bits;
    uint8_t reserved0;
    uint64_t events;      /* n */
    uint64_t accesses;    /* of them reads and writes */
    uint64_t threads_run; /* T: threads with events or forked, without aliases */
    uint64_t locks_held;  /* h: most locks held at once, over all threads together */
    struct rbt_table_head table[RBT_TABLES];
    uint64_t aliases_offset; /* pairs of uint32: a thread name seen in fork/join, the thread it means */
    uint64_t aliases_count;
    uint64_t aliases_sum;
    uint64_t events_of[64]; /* count of each event code */
    uint64_t reserved1[8];  /* zero */
    uint64_t header_sum;    /* checksum of everything before it, seed 0; the rest of the page is zero */
};

struct rbt_page_head {
    uint32_t magic;
    uint32_t count; /* records used */
    uint64_t sum;   /* checksum of the record area, with (page index + 1) as the seed */
};

#endif
