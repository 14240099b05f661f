// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Hooks around asm statements, which order threads: docs/explanation/inline-assembly.md.
#ifndef RB_PLUGIN_ASM_HOOKS_H
#define RB_PLUGIN_ASM_HOOKS_H

// Declares the hooks; `mark` makes a declaration one of a hook with this name in the object file.
void asm_hooks_begin(void (*mark)(tree function, const char *name));

// Sees a function as it was parsed, also one that nobody calls.
void asm_hooks_see(tree function);

// Puts hooks around the asm statements of a function, before it gets a second copy.
void asm_hooks_add(function *fun);

// Says, at the end of the unit, how many statements have hooks.
void asm_hooks_finish(void);

// Returns true for a call of a hook that -fsanitize=thread has put there (bodies.cc).
bool is_hook(const gimple *s);

// References for gcc's garbage collector.
extern const ggc_root_tab asm_hooks_roots[];

#endif
