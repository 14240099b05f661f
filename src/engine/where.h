// Where an access happened, in one word: what a report needs and the engines only carry.
//   63..40  location (code location number, below 2^24)
//   39..0   event number, below 2^40
// Offline only; the running program packs a stack number instead. The engines never look inside.
#ifndef RB_ENGINE_WHERE_H
#define RB_ENGINE_WHERE_H

#include "base/types.h"

#define RB_WHERE_INDEX_BITS 40

static inline uint64_t rb_where(uint64_t index, uint32_t location)
{
    return (uint64_t)location << RB_WHERE_INDEX_BITS | index;
}

static inline uint64_t rb_where_index(uint64_t where)
{
    return where & ((UINT64_C(1) << RB_WHERE_INDEX_BITS) - 1);
}

static inline uint32_t rb_where_location(uint64_t where)
{
    return (uint32_t)(where >> RB_WHERE_INDEX_BITS);
}

#endif
