// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory for engines, both inside other people's programs and in the lab: taken from mmap, bounded, with
// free lists by size. No memory is returned before rb_arena_destroy. Freed blocks are used again last in
// first out, while they are still in the cache. An arena of the tools belongs to one thread; in the running
// program (RB_ONLINE) there is one for all threads, with a lock.
//
// Invariant: mapped <= limit. Every block is aligned to 64 bytes, and its size is rounded up to a multiple
// of 64 (a power of two above 64 KiB).
#ifndef RB_BASE_ARENA_H
#define RB_BASE_ARENA_H

#include "base/types.h"

#define RB_ARENA_SMALL 1024 // 64-byte lines: a class for each size up to 64 KiB,
#define RB_ARENA_LARGE 48   // then one for each power of two, each block a mapping of its own

#if defined(RB_ONLINE)
#define RB_ARENA_SHARED 1
#define RB_REGION_BYTES ((size_t)256 << 10)
#else
#define RB_ARENA_SHARED 0
#define RB_REGION_BYTES ((size_t)1 << 20)
#endif

struct rb_arena_free {
    struct rb_arena_free *next;
};

struct rb_arena_region {
    struct rb_arena_region *next;
    size_t bytes;
};

struct rb_arena {
    size_t limit;  // bytes that may be mapped
    size_t mapped; // bytes that are
    uint32_t lock; // RB_ARENA_SHARED
    char *bump, *bump_end;
    struct rb_arena_region *regions;
    struct rb_arena_free *free[RB_ARENA_SMALL + 1];
    struct rb_arena_free *free_large[RB_ARENA_LARGE];
};

void rb_arena_init(struct rb_arena *a, size_t limit);
void rb_arena_destroy(struct rb_arena *a);
// Maps everything up to the limit now, so that no later allocation needs the kernel.
void rb_arena_reserve(struct rb_arena *a);
// Returns uninitialised memory (freed blocks are not cleared), or NULL when the limit is reached.
void *rb_arena_alloc(struct rb_arena *a, size_t bytes);
// Returns zeroed memory, or NULL. Large blocks fresh from the kernel are not written.
void *rb_arena_zalloc(struct rb_arena *a, size_t bytes);
// Frees a block; `bytes` as given to rb_arena_alloc.
void rb_arena_free(struct rb_arena *a, void *block, size_t bytes);

// Frees the block if `dead`, without a branch, for callers with an unpredictable `dead`. The block
// has `lines` 64-byte lines, at most RB_ARENA_SMALL. Its first word belongs to the arena in either case.
RB_INLINE void rb_arena_free_if(struct rb_arena *a, struct rb_arena_free *block, uint32_t lines, bool dead)
{
    if (RB_ARENA_SHARED) {
        if (dead)
            rb_arena_free(a, block, (size_t)lines * 64);
        return;
    }
    struct rb_arena_free *const first = a->free[lines];
    const uintptr_t mask = 0 - (uintptr_t)dead;

    block->next = first;
    a->free[lines] = (struct rb_arena_free *)(((uintptr_t)block & mask) | ((uintptr_t)first & ~mask));
}

#endif
