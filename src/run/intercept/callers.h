// Accesses that libc makes on behalf of its caller: memcpy, strlen, read. They count only if the caller is
// instrumented code. Code that is not may order its threads by means the runtime cannot see (atomics without
// a hook), and what it does with libc's help must not be held against it: TSan reports such accesses, and is
// wrong at times. So it is with free, a write where the caller is instrumented, or libc itself
// (freeaddrinfo): other libraries may count who still uses a block, as libstdc++ does for exceptions.
//
// READ and WRITE are for interceptors: they cost a comparison while all rests, else one decrement unless the
// access is sampled, and only then look at the caller and work out the number of bytes, which must be of
// those that libc really touches.
#ifndef RB_RUN_INTERCEPT_CALLERS_H
#define RB_RUN_INTERCEPT_CALLERS_H

#include <link.h>
#include <sys/uio.h>

#include "run/access/access.h"

// Does the file with this dynamic section, mapped at base, ask for the hooks? Then it is instrumented.
RB_HIDDEN bool rb_asks_for_hooks(const ElfW(Dyn) * dynamic, uintptr_t base);
// Is a call of free there a write?
RB_HIDDEN bool rb_frees(uintptr_t pc);
// May an access of the code at pc be looked at now? Asked for sampled ones only.
RB_HIDDEN bool rb_caller_counts(uintptr_t pc);
// Looks at it, and leaves errno alone.
RB_HIDDEN void rb_touch(const volatile void *address, size_t size, unsigned how, uintptr_t pc);
// The first `bytes` of the pieces.
RB_HIDDEN void rb_touch_pieces_now(const struct iovec *piece, size_t count, size_t bytes, unsigned how,
                                   uintptr_t pc);
RB_INLINE void rb_touch_pieces(const struct iovec *piece, size_t count, size_t bytes, unsigned how,
                               uintptr_t pc)
{
    if (!rb_idle())
        rb_touch_pieces_now(piece, count, bytes, how, pc);
}

#define RB_TOUCH_AT(how, address, size, pc)                                    \
    (!rb_idle() && RB_UNLIKELY(!rb_passes_odd()) && rb_caller_counts(pc)       \
         ? rb_touch((const volatile void *)(address), (size_t)(size), how, pc) \
         : (void)0)
#define RB_TOUCH(how, address, size) RB_TOUCH_AT(how, address, size, RB_PC)
#define READ(address, size)          RB_TOUCH(RB_HOW_READ, address, size)
#define WRITE(address, size)         RB_TOUCH(RB_HOW_WRITE, address, size)

// Bytes that a call with room for `most` says it has moved; less than 0 is none.
RB_INLINE size_t rb_moved(ssize_t r, size_t most)
{
    return r <= 0 ? 0 : (size_t)r < most ? (size_t)r : most;
}

#endif
