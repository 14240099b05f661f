// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An ELF file for the builder of code tables: code, read-only data, bounds of functions, and compilers.
// Every access stays within the file's bytes, for any contents. Tool side.
#ifndef RB_WATCH_CODE_TABLE_CODE_TABLE_ELF_H
#define RB_WATCH_CODE_TABLE_CODE_TABLE_ELF_H

#include <elf.h>

#include "base/error.h"
#include "watch/code_table/code_table.h"

// A piece of code that unwinding information calls one function, or one part of it.
struct rb_code_range {
    uint64_t start, end;
    bool frame_pointer;  // somewhere in it rbp is one
    bool lands_anywhere; // its landing pads are not known
};

// The compilers of the code, from .comment; a module may have several.
enum rb_code_producer {
    RB_CODE_BY_GCC = 1,
    RB_CODE_BY_CLANG = 2,
    RB_CODE_BY_UNKNOWN = 4 // another one, a version that was not measured, or no entry
};

struct rb_code_file {
    const char *path;
    const uint8_t *data;
    size_t bytes;
    const Elf64_Ehdr *header;
    Elf64_Phdr *segment; // copies, for the file's need not be aligned
    Elf64_Shdr *section;
    size_t segments, sections;
    uint8_t id[RB_CODE_ID_BYTES];
    uint32_t id_bytes;
    bool id_is_hash; // there is no build-id
    unsigned producers;
    struct rb_code_range *range; // sorted; those that overlap are not in it
    size_t ranges;
    uint64_t code_bytes;    // of executable sections, or segments if there are no sections
    uint64_t overlap_bytes; // of ranges that overlap others
    uint64_t *start; // function symbols, addresses that relocations make, landing pads, the entry point
    size_t starts, start_room;
};

// Maps the file and finds its build-id; `e` has the fault. To be closed in any case.
int rb_code_file_open(struct rb_code_file *f, const char *path, struct rb_error *e);
// Reads the other fields above.
int rb_code_file_read(struct rb_code_file *f, struct rb_error *e);
void rb_code_file_close(struct rb_code_file *f);

// Returns the bytes of a range of addresses, if all of them are in the file and executable; else NULL.
const uint8_t *rb_code_file_code(const struct rb_code_file *f, uint64_t start, uint64_t end);
// Returns the byte at an address, and the number of bytes of the file from there; NULL if there is none.
const uint8_t *rb_code_file_bytes(const struct rb_code_file *f, uint64_t address, size_t *bytes);
// Returns true if the address is mapped and never written once the program runs.
bool rb_code_file_read_only(const struct rb_code_file *f, uint64_t address);

// Adds an address to `start`. Returns false if memory is out, or there are more than the file can have.
bool rb_code_file_add_start(struct rb_code_file *f, uint64_t address);

// ---- .eh_frame (code_table_frames.c) -------------------------------------------------------------------

// Appends the ranges of a piece of .eh_frame that is at `address` when loaded.
int rb_code_frames(struct rb_code_file *f, const uint8_t *data, size_t bytes, uint64_t address,
                   struct rb_error *e);

#endif
