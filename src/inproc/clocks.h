// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel's clocks, read by system call: programs replace clock_gettime. In a sandboxed process they
// stand at 0.
#ifndef RB_INPROC_CLOCKS_H
#define RB_INPROC_CLOCKS_H

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "inproc/host.h"

RB_INLINE uint64_t rb_clock_ns(clockid_t which)
{
    struct timespec t;

    if (rb_host.sandboxed)
        return 0;
    syscall(SYS_clock_gettime, which, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
