// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/arena.h"
#include "base/pages.h"

#include <sched.h>
#include <sys/mman.h>

#define LINE         64u
#define REGION_BYTES RB_REGION_BYTES

void rb_arena_init(struct rb_arena *a, size_t limit)
{
    *a = (struct rb_arena){.limit = limit};
}

void rb_arena_destroy(struct rb_arena *a)
{
    struct rb_arena_region *r = a->regions;

    while (r) {
        struct rb_arena_region *next = r->next;
        munmap(r, r->bytes);
        r = next;
    }
    rb_arena_init(a, a->limit);
}

// Returns the lines of a block. Every block has at least one, so that no two blocks share memory.
static size_t line_count(size_t bytes)
{
    return bytes ? (bytes - 1) / LINE + 1 : 1;
}

// Maps a region with room for `bytes` behind its head. Returns NULL beyond the limit.
static char *map_region(struct rb_arena *a, size_t bytes)
{
    const size_t total = (bytes + LINE + 4095) & ~(size_t)4095;
    struct rb_arena_region *r;

    if (total < bytes || total > a->limit - a->mapped)
        return NULL;
    r = rb_pages_map(total);
    if (!r)
        return NULL;
    r->next = a->regions;
    r->bytes = total;
    a->regions = r;
    a->mapped += total;
    return (char *)r + LINE;
}

// Returns the exponent of the smallest power of two that is at least `lines`.
static unsigned large_class(size_t lines)
{
    return 64u - (unsigned)__builtin_clzll(lines - 1);
}

static RB_NOINLINE void *alloc_large(struct rb_arena *a, size_t lines)
{
    const unsigned class = large_class(lines);

    if (class >= RB_ARENA_LARGE)
        return NULL;
    struct rb_arena_free *f = a->free_large[class];
    if (f) {
        a->free_large[class] = f->next;
        return f;
    }
    return map_region(a, (size_t)LINE << class);
}

static RB_NOINLINE void *alloc_region(struct rb_arena *a, size_t lines)
{
    size_t room = REGION_BYTES - LINE;
    char *start;

    if (REGION_BYTES > a->limit - a->mapped)
        room = lines * LINE;
    start = map_region(a, room);
    if (!start)
        return NULL;
    a->bump = start + lines * LINE;
    a->bump_end = start + room / LINE * LINE;
    return start;
}

#if RB_ARENA_SHARED
static void lock_arena(struct rb_arena *a)
{
    while (rb_exchange_acquire(&a->lock, 1))
        for (unsigned spins = 0; rb_load_relaxed(&a->lock); spins++)
            if (spins > 100)
                sched_yield();
            else
                __builtin_ia32_pause();
}

static void unlock_arena(struct rb_arena *a)
{
    rb_store_release(&a->lock, 0);
}
#else
static inline void lock_arena(struct rb_arena *a)
{
    (void)a;
}

static inline void unlock_arena(struct rb_arena *a)
{
    (void)a;
}
#endif

static void *take_block(struct rb_arena *a, size_t lines)
{

    if (RB_UNLIKELY(lines > RB_ARENA_SMALL))
        return alloc_large(a, lines);
    struct rb_arena_free *f = a->free[lines];
    if (f) {
        a->free[lines] = f->next;
        return f;
    }
    if ((size_t)(a->bump_end - a->bump) >= lines * LINE) {
        void *block = a->bump;
        a->bump += lines * LINE;
        return block;
    }
    return alloc_region(a, lines);
}

void rb_arena_reserve(struct rb_arena *a)
{
    lock_arena(a);
    const size_t left = (a->limit - a->mapped) & ~(size_t)4095;
    char *start = left > LINE ? map_region(a, left - LINE) : NULL;
    if (start) {
        a->bump = start;
        a->bump_end = start + (left - LINE);
    }
    a->limit = a->mapped;
    unlock_arena(a);
}

void *rb_arena_alloc(struct rb_arena *a, size_t bytes)
{
    lock_arena(a);
    void *block = take_block(a, line_count(bytes));
    unlock_arena(a);
    return block;
}

void *rb_arena_zalloc(struct rb_arena *a, size_t bytes)
{
    const size_t lines = line_count(bytes);

    lock_arena(a);
    const bool fresh =
        lines > RB_ARENA_SMALL && large_class(lines) < RB_ARENA_LARGE && !a->free_large[large_class(lines)];
    uint64_t *block = take_block(a, lines);
    unlock_arena(a);
    for (size_t i = 0; block && !fresh && i < lines * (LINE / 8); i++)
        block[i] = 0;
    return block;
}

void rb_arena_free(struct rb_arena *a, void *block, size_t bytes)
{
    const size_t lines = line_count(bytes);
    struct rb_arena_free *f = block;
    struct rb_arena_free **list;

    if (!block)
        return;
    list = lines > RB_ARENA_SMALL ? &a->free_large[large_class(lines)] : &a->free[lines];
    lock_arena(a);
    f->next = *list;
    *list = f;
    unlock_arena(a);
}
