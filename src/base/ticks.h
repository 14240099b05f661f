// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A cheap clock of constant rate, for measurements that a system call would distort.
#ifndef RB_BASE_TICKS_H
#define RB_BASE_TICKS_H

#include "base/types.h"

RB_INLINE uint64_t rb_arch_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
#error "Railbird needs a clock for this machine"
#endif
}

#endif
