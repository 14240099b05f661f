// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The file that an address belongs to, and the place in it: makes a stack readable outside this process.
#ifndef RB_INPROC_MODULES_H
#define RB_INPROC_MODULES_H

#include "inproc/host.h"

struct rb_module {
    const char *path;  // absolute, if that can be known
    uintptr_t bias;    // address minus this is the file's own (ELF virtual) address
    char build_id[65]; // hex, or ""
};

// Finds the module of an address. Returns false if it is in no file. `path` is valid until the module is
// unloaded.
RB_HIDDEN bool rb_module_of(uintptr_t address, struct rb_module *m);
// Returns the path of the program's own file.
RB_HIDDEN const char *rb_program_path(void);

#endif
