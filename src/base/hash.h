// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The hash of this code, for tables in memory: the upper bits of a multiple of the golden ratio. Neighbouring
// values are spread evenly; the upper bits of the result depend on all bits of the value.
#ifndef RB_BASE_HASH_H
#define RB_BASE_HASH_H

#include "base/types.h"

#define RB_GOLDEN UINT64_C(0x9e3779b97f4a7c15) // 2^64 divided by the golden ratio, odd

// Returns `bits` bits of hash: 1 to 64.
RB_INLINE uint64_t rb_hash(uint64_t value, unsigned bits)
{
    return value * RB_GOLDEN >> (64 - bits);
}

#endif
