// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the tests of stacks share: a yardstick, walks of the current thread, and the tests in other files that
// test_unwind.c runs.
#ifndef RB_TESTS_UNWIND_WALKS_H
#define RB_TESTS_UNWIND_WALKS_H

#include "run/core/stack.h"

#define TABLE ((size_t)32 << 20)
#define MOST  512 // frames that a yardstick walk takes

struct list {
    unsigned count;
    uintptr_t pcs[MOST];
};

// The stack from the innermost frame with this pc on, as the compiler's runtime sees it.
unsigned yardstick(struct list *list, uintptr_t from, const uintptr_t **pcs);
bool same_pcs(const uintptr_t *a, const uintptr_t *b, unsigned count);

// One walk remembers, the other is made to forget before each use.
extern __thread struct rb_walk walk, fresh;
void own_stack(struct rb_walk *w); // zeroed, with this thread's bounds
void forget_walk(struct rb_walk *w);

// Captures through the frames of a pretended runtime.
rb_stack through_two(struct rb_walk *w, uintptr_t pc, unsigned depth);
rb_stack through_three(struct rb_walk *w, uintptr_t pc, unsigned depth);

// The caller's stack: captured, and by the yardstick.
struct seen {
    rb_stack s;
    struct list list;
    const uintptr_t *expected;
    unsigned real;
};
extern struct seen seen;
void look(void);

// unwind_memory.c: what is remembered, and stacks that were never called
void walks_of_garbage(void **state);
void walks_remembered(void **state);
void rules_forgotten(void **state);
void rules_of_threads(void **state);

// unwind_tree.c
void tree_same_numbers(void **state);
void tree_full(void **state);
void tree_after_fork(void **state);
void times(void **state);

#endif
