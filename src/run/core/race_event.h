// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An access as it is compared with others, and the race that is found. All rooms speak of accesses by
// these. The first part is read by arch_hooks_*.S as well.
#ifndef RB_RUN_CORE_RACE_EVENT_H
#define RB_RUN_CORE_RACE_EVENT_H

// The kind of an access and its number of bytes, in one number.
#define RB_HOW_READ   0
#define RB_HOW_WRITE  1
#define RB_HOW_ATOMIC 2

#define RB_SIZED(size, how) ((size) << 2 | (how))
#define RB_SIZED_HOW        3

#ifndef __ASSEMBLER__
#include "run/core/rt.h"

// Packs the second word of an entry, beside its epoch: its stack, its thread and its number of bytes.
RB_INLINE uint64_t rb_where(rb_stack stack, uint32_t id, size_t size)
{
    return (uint64_t)stack << 32 | (uint64_t)(id & RB_NO_THREAD) << 8 | (size < 255 ? size : 255);
}

RB_INLINE rb_stack rb_where_stack(uint64_t where)
{
    return (rb_stack)(where >> 32);
}

RB_INLINE uint32_t rb_where_thread(uint64_t where)
{
    return (uint32_t)(where >> 8) & RB_NO_THREAD;
}

RB_INLINE uint32_t rb_where_size(uint64_t where)
{
    return (uint32_t)where & 255; // 255: that or more
}

struct rb_memory_access {
    uintptr_t address;
    size_t size;
    bool write, atomic;
    bool record; // false: a check of PACER, which is not recorded
};

// The earlier access of a race, as found.
struct rb_hit {
    uintptr_t address; // of the first byte common to both accesses, in one line
    rb_epoch epoch;    // 0: no race
    uint64_t where;
    bool atomic;
};
#endif

#endif
