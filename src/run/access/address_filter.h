// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Thinning by address: for a time only accesses to one unit of memory in RB_FILTER_SHARE are looked at, by
// all threads and in all hot code. So both accesses of a race are looked at even if they are thousands of
// accesses apart. The cost is a small part of that of everything in between (docs/explanation/sampling.md, "The
// address filter").
//
// The choice of accesses never affects whether a report is true. Accesses that are passed over here must be
// hot: a thread passes only at places that it knows to have had their first looks (rb_common). So code that
// runs seldom is taken as ever. Read by the hooks themselves (arch_hooks_*.S); their `thin` is
// rb_filter_passes.
//
// A library that is loaded at another's former place finds its places known already: its first calls may be
// passed over.
//
// Accesses passed over are counted by rb_skip, which goes on below zero; after RB_FILTER_MOST the sampler is
// asked again, and adds them.
#ifndef RB_RUN_ACCESS_ADDRESS_FILTER_H
#define RB_RUN_ACCESS_ADDRESS_FILTER_H

#define RB_FILTER_UNIT   4 // logarithm of a unit's bytes: as large as the largest access that is passed over
#define RB_FILTER_SHARE  6 // logarithm: one unit in 64
#define RB_FILTER_MOST   1024 // accesses that a thread passes over before it calls the sampler
#define RB_FILTER_PLACES 64   // places that a thread knows, by bits 3 to 8 of the return address

#ifndef __ASSEMBLER__
#include "run/core/rt.h"

// 0: nothing is passed over. Else odd: a unit is looked at if its number times this begins with zeros.
extern RB_HIDDEN uint64_t rb_filter_number;
extern RB_TLS RB_HIDDEN uintptr_t rb_common[RB_FILTER_PLACES];

RB_HIDDEN void rb_filter_begin(uint64_t random);
RB_HIDDEN void rb_filter_end(void);

RB_INLINE uintptr_t *rb_common_place(uintptr_t pc)
{
    return &rb_common[pc >> 3 & (RB_FILTER_PLACES - 1)];
}

// Returns true if the access is passed over. Ranges are not: they are seldom outside all units.
RB_INLINE bool rb_filter_passes(uintptr_t address, size_t size, uintptr_t pc)
{
    const uint64_t thin = rb_load_relaxed(&rb_filter_number);

    return RB_UNLIKELY(thin) && size <= 1u << RB_FILTER_UNIT &&
           (address >> RB_FILTER_UNIT) * thin >> (64 - RB_FILTER_SHARE) && rb_skip >= -RB_FILTER_MOST &&
           *rb_common_place(pc) == pc;
}
#endif
#endif
