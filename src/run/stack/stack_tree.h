// The tree of call stacks: nodes {parent, pc} and their numbers.
#ifndef RB_RUN_STACK_STACK_TREE_H
#define RB_RUN_STACK_STACK_TREE_H

#include "run/core/stack.h"

#pragma GCC visibility push(hidden)

// The node for pc called from the stack `parent` (0: pc is the outermost frame), made if it is new. 0 if
// there is no room: the last sixteenth of the table is for nodes without a parent, so that pcs alone still
// have a number.
rb_stack rb_stack_child(rb_stack parent, uintptr_t pc);

void rb_stack_drop(void); // counts

#pragma GCC visibility pop

#endif
