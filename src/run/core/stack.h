// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Call stacks of the program: captured where the program called the runtime, kept as a tree (a calling
// context tree).
//
// A stack is a number: a node of the tree, which is {node of the caller's part, pc}. Equal stacks have
// equal numbers, for all threads, while the table is not reset. Nodes are never removed.
//
// Every pc in a stack is a return address; the call is at pc - 1 (inproc/unwind.h). Of stacks deeper than
// the limit the innermost frames are kept: the place of the access matters more than the calls of `main`.
// docs/explanation/stacks.md has the reasoning and the figures.
//
// Async-signal-safe, lock-free, errno is left alone.
#ifndef RB_RUN_CORE_STACK_H
#define RB_RUN_CORE_STACK_H

#include "inproc/unwind.h"

#pragma GCC visibility push(hidden)

typedef uint32_t rb_stack; // 0: unknown

#define RB_STACK_DEPTH  64 // most frames of a stack
#define RB_WALK_OWN     16 // the runtime's frames among which hook_pc is looked for
#define RB_WALK_SPARE   8  // frames walked beyond the depth, so that a return need not walk all again
#define RB_WALK_GROWTH  24 // calls that a walk can add before the outermost frames are walked again
#define RB_WALK_NO_WORD UINT16_MAX
#define RB_WALK_FRAMES  (RB_STACK_DEPTH + RB_WALK_OWN + RB_WALK_SPARE + RB_WALK_GROWTH)

// A frame that a walk saw, and the rule that led to its caller's.
struct rb_walk_frame {
    struct rb_unwind_frame at;
    uint64_t rule;
    rb_stack node;  // of the stack that ends here
    uint16_t words; // of rb_walk.word: those that this frame and the outer ones depend on
    bool needs_bp;  // this frame or one beyond it was found with the help of at.bp
};

// A word of the stack that a walk read.
struct rb_walk_word {
    uintptr_t at, value;
};

// One for each thread, zeroed at its start; 10 KiB, of which a walk touches about 56 bytes a frame. The
// owner sets the bounds of the thread's stack (both 0: not known). The rest is the record of the last walk,
// so that the next one walks only the frames that changed.
struct rb_walk {
    uintptr_t stack_lo, stack_hi;

    uintptr_t busy; // stack pointer of the capture at work, 0 if none
    uint64_t generation;
    uintptr_t hi;          // the bound that the frames were found with
    uintptr_t hook_pc;     // of the last capture,
    unsigned depth;        // its depth,
    rb_stack last;         // and its result if that is worth keeping, else 0
    uint16_t hook;         // its frame,
    uint16_t hook_word;    // and which of word[] has hook_pc; RB_WALK_NO_WORD: none
    uint16_t frames;       // frame[0] is the outermost
    uint16_t first, named; // frame[first..named) have nodes; first is where their stacks begin
    bool cut;              // there are frames beyond frame[0]
    struct rb_walk_frame frame[RB_WALK_FRAMES];
    struct rb_walk_word word[3 * RB_WALK_FRAMES]; // words that the frames depend on, the outermost's first
};

// Maps the table, or a new one in its place; no thread may use the old one then. Returns 0 or -errno. Pages
// are taken as stacks come.
int rb_stack_init(size_t bytes);

// Drops all stacks, in the child after fork. Earlier numbers are void.
void rb_stack_reset(void);

// Returns the stack of the code that called the runtime at hook_pc. The walk starts here and leaves out the
// runtime's own frames; hook_pc is the innermost frame. If the walk does not pass hook_pc, or the table is
// full, hook_pc is the only frame; 0 if even that has no room. At most `depth` frames, 1 to RB_STACK_DEPTH.
rb_stack rb_stack_here(struct rb_walk *w, uintptr_t hook_pc, unsigned depth);

// Returns the stack of the current thread from a given frame on, which is the innermost: for instance that
// of a ucontext, with pc = rip + 1.
rb_stack rb_stack_from(struct rb_walk *w, const struct rb_unwind_frame *top, unsigned depth);

// Writes the pcs of a stack, innermost first, and returns their number, at most `room`.
unsigned rb_stack_frames(rb_stack s, uintptr_t *pcs, unsigned room);

size_t rb_stack_bytes(void);     // memory that the table takes
uint64_t rb_stack_dropped(void); // captures that the full table cut down to one frame or none
uint32_t rb_stack_count(void);   // nodes
uint32_t rb_stack_room(void);    // the most nodes; numbers are below it

// Returns the node for pc called from the stack `parent` (0: pc is the outermost frame), made if it is new.
// 0: no room. The last sixteenth of the table is for nodes without a parent, so that a pc alone still has a
// number.
rb_stack rb_stack_child(rb_stack parent, uintptr_t pc);

void rb_stack_drop(void); // counts a dropped stack

#pragma GCC visibility pop

#endif
