// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program's heap. The program's own allocator does the work, and the interceptors record it. A new
// block has no history. Freeing is a write to the whole block, so that a use that is not ordered with it is
// a race. The most recent blocks are remembered for reports, with the stacks that allocated them.
#ifndef RB_RUN_INTERCEPT_HEAP_H
#define RB_RUN_INTERCEPT_HEAP_H

#include "run/core/rt.h"

struct rb_block {
    uintptr_t address;
    size_t size;
    rb_stack stack;
    uint32_t thread;
    uintptr_t pc; // of the allocation, if its stack was too expensive; 0: it has a stack, or nothing is
                  // known
};

RB_HIDDEN int rb_heap_init(size_t bytes);
RB_HIDDEN void rb_heap_after_fork(void);
RB_HIDDEN void rb_heap_find_real(void);
// Finds the live block that holds the address. Returns false if it is not in the table any more.
RB_HIDDEN bool rb_heap_block(uintptr_t address, struct rb_block *block);
// Returns the number of bytes in the live blocks of the table.
RB_HIDDEN size_t rb_heap_bytes(void);
// Callbacks of a program that asked to be told of blocks (tsan_heap.c). Called outside the guard.
extern RB_HIDDEN void (*rb_heap_told_new)(const volatile void *block, size_t size);
extern RB_HIDDEN void (*rb_heap_told_gone)(const volatile void *block);
// Forgets the history of memory that begins a new life: mappings, stacks.
RB_HIDDEN void rb_memory_new(struct rb_self *me, uintptr_t address, size_t size);
// Prepares for unmapping the memory. rb_may_go returns false if the kernel will refuse to unmap it.
RB_HIDDEN void rb_memory_goes(struct rb_self *me, uintptr_t address, size_t size);
RB_HIDDEN bool rb_may_go(uintptr_t address, size_t size);
RB_HIDDEN size_t rb_segment_bytes(int segment); // of a System V segment; 0 if it is not known
// Returns the address of the function behind the interceptor of malloc.
RB_HIDDEN uintptr_t rb_heap_allocator(void);

#endif
