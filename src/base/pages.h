// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory straight from the kernel, for tables and arenas. Both worlds.
#ifndef RB_BASE_PAGES_H
#define RB_BASE_PAGES_H

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/types.h"

// Returns pages that are all zero and take no memory until they are written; NULL if there are none to be had.
// Leaves errno alone.
RB_INLINE void *rb_pages_map(size_t bytes)
{
    const int saved = errno;
    const long map = syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);

    errno = saved;
    return map == -1 ? NULL : (void *)map;
}

#endif
