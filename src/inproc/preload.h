// Programs that cannot bear our libraries in LD_PRELOAD, and are started by one that has them: the
// environment that exec hands on goes without. Those are programs of another loader than glibc's for x86-64
// (musl, 32 bits), and programs whose AddressSanitizer must come first.
//
// A child of fork calls these: no allocation, no lock. The file is looked at by system calls.
#ifndef RB_INPROC_PRELOAD_H
#define RB_INPROC_PRELOAD_H

#include "inproc/host.h"

// Returns the bytes that rb_preload_drop needs; 0: the environment goes as it is. With `search` the file is
// looked for in PATH, as execvp does.
RB_HIDDEN size_t rb_preload_room(const char *file, bool search, char *const *environment);
// Returns a copy without our libraries, made in `room`.
RB_HIDDEN char *const *rb_preload_drop(char *const *environment, void *room);

#endif
