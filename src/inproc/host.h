// What the code inside somebody else's process asks of the library that it is part of: the runtime or the agent
// of `railbird watch`. The library fills this in when it starts; all of it is read only from then on, but for
// `sandboxed`.
#ifndef RB_INPROC_HOST_H
#define RB_INPROC_HOST_H

#include "base/arena.h"
#include "base/options.h"
#include "base/types.h"

#define RB_TLS    __thread __attribute__((tls_model("initial-exec")))
#define RB_HIDDEN __attribute__((visibility("hidden")))
#define RB_EXPORT __attribute__((visibility("default")))
#define RB_WEAK   __attribute__((visibility("default"), weak))
#define RB_PC     ((uintptr_t)__builtin_return_address(0))

// In the place of the number of a thread that is not known; numbers have 24 bits.
#define RB_NO_THREAD 0xffffffu

struct rb_host {
    bool sandboxed;       // the process filters system calls: only those are made that it makes itself
    struct rb_arena kept; // memory that stays until the process ends, also in the child of a fork
};
extern RB_HIDDEN struct rb_host rb_host;
extern RB_HIDDEN struct rb_options rb_options; // as the user set them

#endif
