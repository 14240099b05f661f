// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From an ELF file to its table of atomic instructions (base/rmw_table.h), in memory and in the cache. Tool
// side.
#ifndef RB_WATCH_CODE_TABLE_RMW_BUILD_H
#define RB_WATCH_CODE_TABLE_RMW_BUILD_H

#include "base/error.h"
#include "base/rmw_table.h"

// Builds the table of a file, to be freed with free(). Returns NULL and puts the fault into `e` otherwise.
struct rb_rmw_header *rb_rmw_build(const char *path, struct rb_error *e);
// Finds or makes the table of a file: takes it from the cache if it is good, else builds and stores it. `out`
// is its path, beside that of the code table.
int rb_rmw_cached(const char *path, char *out, size_t room, struct rb_error *e);

#endif
