// An access as it is compared with others, and the race that is found. All rooms speak of accesses by these.
#ifndef RB_RUN_CORE_RACE_EVENT_H
#define RB_RUN_CORE_RACE_EVENT_H

#include "run/core/rt.h"

// What an entry says beside its epoch: which stack, which thread, how many bytes.
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

struct rb_touch {
    uintptr_t address;
    size_t size;
    bool write, atomic;
    bool record; // false: PACER's check
};

// The earlier side of a race, as found.
struct rb_hit {
    uintptr_t address; // of the first byte that both touch, in one line
    rb_epoch epoch;    // 0: no race
    uint64_t where;
    bool atomic;
};

#endif
