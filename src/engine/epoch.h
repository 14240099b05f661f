// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The packed epoch of an access: thread, local time, and kind. One 64-bit word, compared and replaced
// as a whole.
//   63      many: the cell holds a list instead of this entry (access history only)
//   62      write
//   47..32  slot of the thread (RB_MAX_THREADS below 2^16)
//   31..0   local time, from 1, below 2^31 (so that clocks compare as signed SIMD lanes); the whole word is 0
//           for "nothing recorded"
// A local time that would pass 2^31 - 1 stays there and the thread stops recording. A clock entry of
// 2^31 - 1 then covers all accesses of that thread, so races can be missed but none invented.
#ifndef RB_ENGINE_EPOCH_H
#define RB_ENGINE_EPOCH_H

#include "base/types.h"

typedef uint64_t rb_epoch;

#define RB_EPOCH_MANY     (UINT64_C(1) << 63)
#define RB_EPOCH_WRITE    (UINT64_C(1) << 62)
#define RB_EPOCH_TIME_MAX INT32_MAX

RB_INLINE rb_epoch rb_epoch_make(uint32_t slot, uint32_t time, bool write)
{
    return (write ? RB_EPOCH_WRITE : 0) | (uint64_t)(slot & 0xffff) << 32 | time;
}

RB_INLINE uint32_t rb_epoch_time(rb_epoch e)
{
    return (uint32_t)e;
}

RB_INLINE uint32_t rb_epoch_slot(rb_epoch e)
{
    return (uint32_t)(e >> 32) & 0xffff;
}

RB_INLINE bool rb_epoch_is_write(rb_epoch e)
{
    return (e & RB_EPOCH_WRITE) != 0;
}

#endif
