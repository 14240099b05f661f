// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Hooks at the atomic read-modify-write instructions of libraries that are not instrumented:
// docs/explanation/unseen-code.md. The tool's table of the library (base/rmw_table.h) says where they are.
#ifndef RB_RUN_UNSEEN_RMW_H
#define RB_RUN_UNSEEN_RMW_H

#include "base/rmw_table.h"
#include "run/core/rt.h"

struct rb_module;

// ---- called around each instruction, on its thread, with all registers saved ---------------------------

// Before and after the instruction. `address` is its operand's.
RB_HIDDEN void rb_unseen_before(unsigned library, uintptr_t address);
RB_HIDDEN void rb_unseen_after(unsigned library, uintptr_t address);
// Returns true if the call would do nothing: no lock, no shared write. Vector registers are not saved: this
// function is compiled with general registers alone (CMakeLists.txt).
RB_HIDDEN bool rb_unseen_quick(unsigned library, bool after);

// ---- hooks ---------------------------------------------------------------------------------------------
// All of these are called inside the guard.

// Makes hooks possible while other threads run: takes SIGTRAP. Called before the second thread.
RB_HIDDEN bool rb_rmw_prepare(void);
// Hooks the instructions of a library that is loaded at `base`, its ELF address 0. The table is not needed
// afterwards. Returns 0, or -errno: nothing is hooked.
RB_HIDDEN int rb_rmw_hook_module(unsigned library, uintptr_t base, const struct rb_rmw_table *table);
// Drops the hooks of a library that is gone; touches no code of it. No thread may be in a trampoline, as none is
// in the library.
RB_HIDDEN void rb_rmw_forget_module(unsigned library);
// Puts all code back, byte for byte, for good.
RB_HIDDEN void rb_rmw_restore_all(void);
// Frees the locks, in the child of a fork.
RB_HIDDEN void rb_rmw_reset_after_fork(void);

struct rb_rmw_counts {
    uint64_t jumps;    // hooked by a jump,
    uint64_t moved;    // of these with instructions that moved
    uint64_t traps;    // hooked by an int3
    uint64_t refused;  // not hooked: no room and no trap, or other code than the table's
    uint64_t given_up; // traps that came too often
};
RB_HIDDEN void rb_rmw_count(struct rb_rmw_counts *counts);

// ---- tables: rmw_find.c --------------------------------------------------------------------------------

// Finds the table of a module in the tool's cache; to be closed. Returns 0 or -ENOENT: then the tool has been
// asked to make it, in the background, for a later call or a later run.
RB_HIDDEN int rb_rmw_table_find(const struct rb_module *module, struct rb_rmw_table *out);
// Frees the lock of these, in the child of a fork.
RB_HIDDEN void rb_rmw_tables_reset(void);

#endif
