// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Atomic instructions in an object file. Tool side.
#ifndef RB_WATCH_CODE_TABLE_OBJECT_ATOMICS_H
#define RB_WATCH_CODE_TABLE_OBJECT_ATOMICS_H

#include <stddef.h>

// Returns the number of instructions of an object file (x86-64, before it is linked) that lock memory; 0 for any
// other file.
size_t rb_object_atomics(const char *path);

#endif
