// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From an ELF file to its code table, in memory and in the cache. Tool side (Zydis).
#ifndef RB_WATCH_CODE_TABLE_CODE_TABLE_BUILD_H
#define RB_WATCH_CODE_TABLE_CODE_TABLE_BUILD_H

#include "base/error.h"
#include "base/rmw_table.h"
#include "watch/code_table/code_table.h"

// Results for the code; functions are ranges of .eh_frame.
struct rb_code_counts {
    uint64_t code_bytes;      // of executable sections
    uint64_t functions, kept; // ranges found, and those that the table has
    uint64_t invalid;         // functions left out: an instruction is not one, or does not end with them
    uint64_t entered;         // functions left out: a jump, symbol or address leads into an instruction
    uint64_t with_data;       // functions left out: an instruction reads or writes there
    uint64_t overlap_bytes;   // of functions that overlap others
    uint64_t rows, sites, reads, writes, moves, locked;
    unsigned producers; // enum rb_code_producer
    bool id_is_hash;
};

struct rb_code_image {
    struct rb_code_header *header; // and the data that follows it
    struct rb_code_counts counts;
};

// Builds the table of a file; `e` has the fault of the file. The image is freed with rb_code_free() in any
// case.
int rb_code_build(const char *path, struct rb_code_image *image, struct rb_error *e);
// Writes a table to a temporary name beside `path`, then renames it.
int rb_code_write(const void *data, size_t bytes, const char *path, struct rb_error *e);
// Does the same, and makes the folders first.
int rb_code_store(const void *data, size_t bytes, const char *path, struct rb_error *e);
void rb_code_free(struct rb_code_image *image);

// Returns the build-id of a file, or its substitute, without decoding.
int rb_code_identify(const char *path, uint8_t id[RB_CODE_ID_BYTES], uint32_t *bytes, struct rb_error *e);
// Returns the path of its table, existing or not: $XDG_CACHE_HOME/railbird/code/ID and the suffix, else below
// ~/.cache.
int rb_code_cache_path(const uint8_t *id, uint32_t bytes, const char *suffix, char *out, size_t room,
                       struct rb_error *e);
// Finds or makes the table of a file: takes it from the cache if it is good, else builds and stores it.
// `out` is its path. `counts` (may be NULL) is filled in if it was made; `made` (may be NULL) is then true.
int rb_code_cached(const char *path, char *out, size_t room, struct rb_code_counts *counts, bool *made,
                   struct rb_error *e);

// ---- atomic instructions (rmw_build.c) -----------------------------------------------------------------

// Builds the table of a file, to be freed with free(). Returns NULL and puts the fault into `e` otherwise.
struct rb_rmw_header *rb_rmw_build(const char *path, struct rb_error *e);
// Finds or makes the table of a file: takes it from the cache if it is good, else builds and stores it. `out`
// is its path, beside that of the code table.
int rb_rmw_cached(const char *path, char *out, size_t room, struct rb_error *e);

#endif
