// Which file an address belongs to, and where in it: what makes a stack readable outside this process.
#ifndef RB_INPROC_MODULES_H
#define RB_INPROC_MODULES_H

#include "inproc/host.h"

struct rb_module {
    const char *path;  // absolute, where that can be known
    uintptr_t bias;    // address minus this is the file's own (ELF virtual) address
    char build_id[65]; // hex, or ""
};

// False if the address is in no file. `path` is valid until the module is unloaded.
RB_HIDDEN bool rb_module_of(uintptr_t address, struct rb_module *m);
// The program's own file.
RB_HIDDEN const char *rb_program_path(void);

#endif
