// Which access has hit a breakpoint: for traps, which come after the instruction and name neither what it
// touched nor whether it wrote.
//
// An access counts only if it is shown to be a plain one that a hook announced: the nearest call site before
// it, verified in the code, calls the hook of a single plain access; from there to the trap the code is a
// straight line; and of its instructions the trapping one is the first that touches memory as the hook
// announced. So atomics (done in the runtime), libc, inline assembly and code without hooks are not shown.
#ifndef RB_RUN_WATCHPOINT_TRAP_DECODE_H
#define RB_RUN_WATCHPOINT_TRAP_DECODE_H

#include <ucontext.h>

#include "run/access/history.h"

struct rb_trapped {
    struct rb_touch touch;
    uintptr_t site; // what the call of its hook returns to
};

// The access that has hit the breakpoint on [watched, watched + bytes); false: not shown. Inside the guard.
RB_HIDDEN bool rb_trapped_find(const struct rb_self *me, uintptr_t watched, unsigned bytes,
                               const ucontext_t *context, struct rb_trapped *caught);
// On the thread's own stack, or thread-local: no place for a breakpoint. errno is there, which our handler
// would hit.
RB_HIDDEN bool rb_trapped_is_own(const struct rb_self *me, uintptr_t address);

#endif
