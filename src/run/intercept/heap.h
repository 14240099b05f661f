// The heap as the program uses it: its own allocator does the work, we stand in front. A new block has no
// history; freeing is a write to all of it, so that a use not ordered with it is a race; and the last blocks
// are remembered with the stacks that made them, for reports.
#ifndef RB_RUN_INTERCEPT_HEAP_H
#define RB_RUN_INTERCEPT_HEAP_H

#include "run/core/rt.h"

struct rb_block {
    uintptr_t address;
    size_t size;
    rb_stack stack;
    uint32_t thread;
    uintptr_t pc; // of the call that asked for it, where its stack was too dear; 0: has a stack, or nothing
                  // is known
};

RB_HIDDEN int rb_heap_init(size_t bytes);
RB_HIDDEN void rb_heap_find_real(void);
// The live block that holds the address, if it is still known.
RB_HIDDEN bool rb_heap_block(uintptr_t address, struct rb_block *block);
// Bytes in the live blocks that are still known.
RB_HIDDEN size_t rb_heap_bytes(void);
// The program wants to be told of blocks (tsan_heap.c): called outside the guard.
extern RB_HIDDEN void (*rb_heap_told_new)(const volatile void *block, size_t size);
extern RB_HIDDEN void (*rb_heap_told_gone)(const volatile void *block);
// Memory that starts anew: mappings, stacks.
RB_HIDDEN void rb_memory_new(struct rb_self *me, uintptr_t address, size_t size);
// Is about to be unmapped; may that be?
RB_HIDDEN void rb_memory_goes(struct rb_self *me, uintptr_t address, size_t size);
RB_HIDDEN bool rb_may_go(uintptr_t address, size_t size);
RB_HIDDEN size_t rb_segment_bytes(int segment); // of System V

#endif
