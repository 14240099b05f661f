// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Accesses that libc makes for its caller: memcpy, strlen, read. They count
// only if the caller is instrumented code.
//
// Other code may order its threads by means that the runtime cannot see, such as atomics without a hook.
// Its accesses through libc would then be false races, which TSan does report. The same holds for free. It
// is a write if the caller is instrumented code, or libc itself (freeaddrinfo). Other libraries may count
// the users of a block, as libstdc++ does for exceptions.
//
// READ and WRITE are for interceptors. While tracking is paused they cost a comparison; else they cost one
// decrement unless the access is sampled. Only a sampled access looks at the caller and computes the number
// of bytes. These must be bytes that libc really touches.
#ifndef RB_RUN_INTERCEPT_CALLERS_H
#define RB_RUN_INTERCEPT_CALLERS_H

#include <link.h>
#include <sys/uio.h>

#include "run/access/access.h"

// Returns true if the file with this dynamic section, mapped at
// `base`, imports the hooks: it is instrumented.
RB_HIDDEN bool rb_asks_for_hooks(const ElfW(Dyn) * dynamic, uintptr_t base);
// Returns true if the code is in an instrumented file.
RB_HIDDEN bool rb_is_in_hooked_file(uintptr_t pc);
// Returns true if a call of free from there is a write.
RB_HIDDEN bool rb_frees(uintptr_t pc);
// Returns true if an access of the code at `pc` may be checked now. Called for sampled accesses only.
RB_HIDDEN bool rb_caller_counts(uintptr_t pc);
// Checks the access. Keeps errno.
RB_HIDDEN void rb_touch(const volatile void *address, size_t size, unsigned how, uintptr_t pc);
// Checks the first `bytes` of the pieces.
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

// Returns the number of bytes that a call with room for `most` reports as moved; 0 for a negative result.
RB_INLINE size_t rb_moved(ssize_t r, size_t most)
{
    return r <= 0 ? 0 : (size_t)r < most ? (size_t)r : most;
}

#endif
