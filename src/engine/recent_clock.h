// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The clock of the SO engine: a vector clock that knows which of its parts changed recently, and that sync
// objects share by reference.
//
// The paper's ordered list (Efficient Timestamping, section 5) links one node a thread in order of last
// change. A reader that knows all but the last d changes reads d nodes. We keep the order by blocks of 16
// entries, a cache line of times. `stamp[b]` is the owner's version when block b last changed (U in the
// paper: it grows with every change). A reader that knows version v reads the blocks with stamp > v.
//
// A block is compared and joined with a dozen vector instructions; 16 list nodes would take 16 dependent
// loads and up to 96 stores. The clock is half as large, so is its copy, and nothing has to be relinked.
// docs/explanation/engines.md has the measurement.
//
// A clock is shared by reference count. A clock with more than one holder is immutable; its owner copies it
// before a change (rb_rclock_own). Entries stay below 2^31, so that they compare as signed lanes.
// Invariants:
//   stamp[b] <= the owner's version;  a block changed at version v has stamp[b] >= v.
#ifndef RB_ENGINE_RECENT_CLOCK_H
#define RB_ENGINE_RECENT_CLOCK_H

#include "base/arena.h"
#include "base/types.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define RB_RCLOCK_BLOCK 16u

struct rb_rclock {
    struct rb_arena_free link; // the arena's word: see rb_rclock_unref
    uint32_t refs;
    uint32_t size;  // slots, a multiple of RB_RCLOCK_BLOCK
    uint32_t lines; // of the block, in 64 bytes
    uint32_t pad[11];
    uint32_t time[];
    // uint64_t stamp[size / RB_RCLOCK_BLOCK] behind the times
};

RB_INLINE uint64_t *rb_rclock_stamps(const struct rb_rclock *c)
{
    return (uint64_t *)(uintptr_t)(c->time + c->size);
}

RB_INLINE uint32_t rb_rclock_get(const struct rb_rclock *c, uint32_t slot)
{
    return slot < c->size ? c->time[slot] : 0;
}

// Returns a clock of zeros with one reference; NULL when memory is out.
struct rb_rclock *rb_rclock_new(struct rb_arena *a, uint32_t slots);

// Adds a holder. In the running program the holders of a clock are in several threads.
RB_INLINE void rb_rclock_ref(struct rb_rclock *c)
{
    if (RB_ARENA_SHARED)
        rb_fetch_add_relaxed(&c->refs, 1);
    else
        c->refs++;
}

// Returns true if the caller's reference is the only one. Then no other thread can make another.
RB_INLINE bool rb_rclock_alone(const struct rb_rclock *c)
{
    return rb_load_acquire(&c->refs) == 1;
}

void rb_rclock_free(struct rb_arena *a, struct rb_rclock *c);

// Drops a holder. It is unpredictable which release is the last, so the block is returned without a branch.
RB_INLINE void rb_rclock_unref(struct rb_arena *a, struct rb_rclock *c)
{
    if (RB_ARENA_SHARED) {
        if (rb_fetch_sub_acq_rel(&c->refs, 1) == 1)
            rb_rclock_free(a, c);
        return;
    }
    c->refs--;
    if (RB_LIKELY(c->lines <= RB_ARENA_SMALL))
        rb_arena_free_if(a, &c->link, c->lines, c->refs == 0);
    else if (c->refs == 0)
        rb_rclock_free(a, c);
}

// Makes *c the caller's alone, with room for `slots`; *copied is set if that took a copy. Returns false
// when memory is out (nothing changed).
bool rb_rclock_own(struct rb_arena *a, struct rb_rclock **c, uint32_t slots, bool *copied);

// Sets an entry at `version`. The caller owns the clock and slot < size.
RB_INLINE void rb_rclock_set(struct rb_rclock *c, uint32_t slot, uint32_t time, uint64_t version)
{
    c->time[slot] = time;
    rb_rclock_stamps(c)[slot / RB_RCLOCK_BLOCK] = version;
}

// Returns bit i if seen's entry i of block `block` is above have's. Entries beyond the room of `have` count
// as 0.
RB_INLINE unsigned rb_rclock_rising(const struct rb_rclock *have, const struct rb_rclock *seen,
                                    uint32_t block)
{
    const uint32_t from = block * RB_RCLOCK_BLOCK;
    unsigned mask = 0;

#if defined(__SSE2__)
    if (RB_LIKELY(from < have->size)) {
        const __m128i *h = (const __m128i *)(const void *)(have->time + from);
        const __m128i *s = (const __m128i *)(const void *)(seen->time + from);
        const __m128i m0 = _mm_cmpgt_epi32(_mm_load_si128(s), _mm_load_si128(h));
        const __m128i m1 = _mm_cmpgt_epi32(_mm_load_si128(s + 1), _mm_load_si128(h + 1));
        const __m128i m2 = _mm_cmpgt_epi32(_mm_load_si128(s + 2), _mm_load_si128(h + 2));
        const __m128i m3 = _mm_cmpgt_epi32(_mm_load_si128(s + 3), _mm_load_si128(h + 3));
        return (unsigned)_mm_movemask_epi8(_mm_packs_epi16(_mm_packs_epi32(m0, m1), _mm_packs_epi32(m2, m3)));
    }
#endif
    for (uint32_t i = 0; i < RB_RCLOCK_BLOCK; i++)
        mask |= (unsigned)(seen->time[from + i] > rb_rclock_get(have, from + i)) << i;
    return mask;
}

// Raises the blocks first + i, for each bit i of `blocks`, to seen's entries where those are higher. The
// caller owns `to`, which has those blocks.
void rb_rclock_join_blocks(struct rb_rclock *to, const struct rb_rclock *seen, uint32_t first,
                           uint64_t blocks, uint64_t version);

// Copies and joins a shared clock in one pass, for clocks of equal size and at most 64 blocks. Returns
//   1        *c is a new clock, changed blocks stamped `version`; the old reference is given up
//   0        seen has nothing new, the entry of `own_slot` aside; nothing changed
//   -ENOMEM  nothing changed
int rb_rclock_join_copy(struct rb_arena *a, struct rb_rclock **c, const struct rb_rclock *seen,
                        uint32_t own_slot, uint64_t version);

#endif
