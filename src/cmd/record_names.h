// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names for the addresses of a recording, from the debugging information of the program and its libraries.
// Modules are opened once; addresses without a name keep their offset.
#ifndef RB_CMD_RECORD_NAMES_H
#define RB_CMD_RECORD_NAMES_H

#include "lab/record/merge.h"

struct record_symbol {
    uint64_t from, to; // addresses in the program
    char *name;
};

struct record_names {
    struct rb_merge_names names; // for rb_merge
    const struct rb_raw *raw;
    struct rb_elf_module **module; // of each module of the recording, opened at its first use
    struct record_symbol *symbol;  // variables found so far, by address: a large one has many accesses
    size_t symbols;
};

// Returns false if out of memory.
bool record_names_open(struct record_names *n, const struct rb_raw *raw);
void record_names_close(struct record_names *n);

#endif
