// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The place of an access in one word: reports need it, and the engines only carry it.
//   63..24  event number, below 2^40
//   23..0   location (code location number), below 2^24
// Offline only; the running program packs a stack number instead. The engines never look inside. If several
// earlier accesses race, FastTrack names the one with the largest word, which here is the latest.
#ifndef RB_ENGINE_WHERE_H
#define RB_ENGINE_WHERE_H

#include "base/types.h"

#define RB_WHERE_LOCATION_BITS 24

static inline uint64_t rb_where(uint64_t index, uint32_t location)
{
    return index << RB_WHERE_LOCATION_BITS | location;
}

static inline uint64_t rb_where_index(uint64_t where)
{
    return where >> RB_WHERE_LOCATION_BITS;
}

static inline uint32_t rb_where_location(uint64_t where)
{
    return (uint32_t)where & ((1u << RB_WHERE_LOCATION_BITS) - 1);
}

#endif
