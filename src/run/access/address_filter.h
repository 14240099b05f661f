// Thinning by address: for a time only accesses to one unit of memory in RB_THIN_SHARE are looked at, but
// those of all threads and all of hot code, so that a race whose two sides are thousands of accesses apart
// has both of them looked at, for a twenty-sixth of what looking at everything in between costs
// (docs/sampling.md, "Thin stretches").
//
// Which accesses are looked at never matters for whether a report is true. What is passed over here must be
// hot: a thread passes only at places that it knows to have had their first looks (rb_common), so code that
// runs seldom is taken as ever. Read by the hooks themselves (arch_hooks_*.S), whose `thin` is
// rb_thin_passes.
//
// A library that is loaded where another one was finds its places known already: its first calls may be
// passed over.
//
// What is passed over is counted by rb_skip, which goes on below zero; after RB_THIN_MOST the sampler is
// asked again, and hears of them.
#ifndef RB_RUN_ACCESS_ADDRESS_FILTER_H
#define RB_RUN_ACCESS_ADDRESS_FILTER_H

#define RB_THIN_UNIT   4    // logarithm of a unit's bytes: as large as the largest access that is passed over
#define RB_THIN_SHARE  6    // logarithm: one unit in 64
#define RB_THIN_MOST   1024 // accesses that a thread passes over before it tells
#define RB_THIN_PLACES 64   // that a thread knows, by bits 3 to 8 of what the call returns to

#ifndef __ASSEMBLER__
#include "run/core/rt.h"

// 0: nothing is passed over; else odd, and which units are looked at: those whose number times this begins
// with zeros.
extern RB_HIDDEN uint64_t rb_thin;
extern RB_TLS RB_HIDDEN uintptr_t rb_common[RB_THIN_PLACES];

RB_HIDDEN void rb_thin_begin(uint64_t random);
RB_HIDDEN void rb_thin_end(void);

RB_INLINE uintptr_t *rb_common_place(uintptr_t pc)
{
    return &rb_common[pc >> 3 & (RB_THIN_PLACES - 1)];
}

// Ranges are not: they are seldom outside all units.
RB_INLINE bool rb_thin_passes(uintptr_t address, size_t size, uintptr_t pc)
{
    const uint64_t thin = rb_load_relaxed(&rb_thin);

    return RB_UNLIKELY(thin) && size <= 1u << RB_THIN_UNIT &&
           (address >> RB_THIN_UNIT) * thin >> (64 - RB_THIN_SHARE) && rb_skip >= -RB_THIN_MOST &&
           *rb_common_place(pc) == pc;
}
#endif
#endif
