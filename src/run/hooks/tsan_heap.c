// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program's queries about its heap, and its callbacks, by the sanitizers' names. The
// heap is the program's own allocator. Of its blocks those are known that the table of
// heap.c still holds, so sums are of these.
#include <malloc.h>

#include "run/intercept/heap.h"

// ---- queries -------------------------------------------------------------------------------------------

static bool find_block(const volatile void *address, struct rb_block *b)
{
    struct rb_self *me = rb_enter();
    const bool found = me && rb_heap_block((uintptr_t)address, b);

    if (me)
        rb_leave(me);
    return found;
}

static bool is_block_start(const volatile void *address, struct rb_block *b)
{
    return find_block(address, b) && b->address == (uintptr_t)address;
}

RB_WEAK size_t __sanitizer_get_estimated_allocated_size(size_t size);
RB_WEAK size_t __sanitizer_get_estimated_allocated_size(size_t size)
{
    return size;
}

RB_WEAK int __sanitizer_get_ownership(const volatile void *block);
RB_WEAK int __sanitizer_get_ownership(const volatile void *block)
{
    struct rb_block b;

    return is_block_start(block, &b);
}

RB_WEAK const void *__sanitizer_get_allocated_begin(const void *address);
RB_WEAK const void *__sanitizer_get_allocated_begin(const void *address)
{
    struct rb_block b;

    return find_block(address, &b) ? (const void *)b.address : NULL;
}

RB_WEAK size_t __sanitizer_get_allocated_size(const volatile void *block);
RB_WEAK size_t __sanitizer_get_allocated_size(const volatile void *block)
{
    struct rb_block b;

    return is_block_start(block, &b) ? b.size : 0;
}

RB_WEAK size_t __sanitizer_get_allocated_size_fast(const volatile void *block);
RB_WEAK size_t __sanitizer_get_allocated_size_fast(const volatile void *block)
{
    struct rb_block b;

    return is_block_start(block, &b) ? b.size : 0;
}

RB_WEAK size_t __sanitizer_get_current_allocated_bytes(void);
RB_WEAK size_t __sanitizer_get_current_allocated_bytes(void)
{
    return rb_heap_bytes();
}

RB_WEAK size_t __sanitizer_get_heap_size(void);
RB_WEAK size_t __sanitizer_get_heap_size(void)
{
    const struct mallinfo2 m = mallinfo2();

    return m.arena + m.hblkhd;
}

RB_WEAK size_t __sanitizer_get_free_bytes(void);
RB_WEAK size_t __sanitizer_get_free_bytes(void)
{
    return mallinfo2().fordblks;
}

RB_WEAK size_t __sanitizer_get_unmapped_bytes(void);
RB_WEAK size_t __sanitizer_get_unmapped_bytes(void)
{
    return 0; // memory given back to the system is not counted
}

RB_WEAK void __sanitizer_purge_allocator(void);
RB_WEAK void __sanitizer_purge_allocator(void)
{
    malloc_trim(0);
}

// ---- callbacks: functions of the program by their names, and installed ones ----------------------------

extern void __sanitizer_malloc_hook(const volatile void *block, size_t size) __attribute__((weak));
extern void __sanitizer_free_hook(const volatile void *block) __attribute__((weak));

#define HOOKS 5u // the same number as in the sanitizers
static void (*on_new[HOOKS])(const volatile void *block, size_t size);
static void (*on_gone[HOOKS])(const volatile void *block);
static uint32_t hooks;

static void tell_new(const volatile void *block, size_t size)
{
    if (__sanitizer_malloc_hook)
        __sanitizer_malloc_hook(block, size);
    for (unsigned i = 0; i < HOOKS; i++)
        if (on_new[i])
            on_new[i](block, size);
}

static void tell_gone(const volatile void *block)
{
    if (__sanitizer_free_hook)
        __sanitizer_free_hook(block);
    for (unsigned i = 0; i < HOOKS; i++)
        if (on_gone[i])
            on_gone[i](block);
}

RB_WEAK int __sanitizer_install_malloc_and_free_hooks(void (*made)(const volatile void *, size_t),
                                                      void (*gone)(const volatile void *));
RB_WEAK int __sanitizer_install_malloc_and_free_hooks(void (*made)(const volatile void *, size_t),
                                                      void (*gone)(const volatile void *))
{
    const uint32_t at = rb_fetch_add_relaxed(&hooks, 1);

    if (at >= HOOKS) {
        rb_fetch_sub_relaxed(&hooks, 1);
        return 0;
    }
    rb_store_release(&on_new[at], made);
    rb_store_release(&on_gone[at], gone);
    rb_store_release(&rb_heap_told_new, tell_new);
    rb_store_release(&rb_heap_told_gone, tell_gone);
    return (int)at + 1;
}

static __attribute__((constructor(102))) void find_hooks(void)
{
    if (__sanitizer_malloc_hook)
        rb_heap_told_new = tell_new;
    if (__sanitizer_free_hook)
        rb_heap_told_gone = tell_gone;
}
