// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Libraries with hooks: their sites and cells in memory near them.
#ifndef RB_RUN_UNSEEN_RMW_MODULES_H
#define RB_RUN_UNSEEN_RMW_MODULES_H

#include "run/unseen/rmw_cell.h"

#define RB_RMW_MODULES 256u

// Written under rb_rmw_lock. Signal handlers count themselves as readers, and read modules up to
// rb_rmw_module_count that have sites; the fields before it are written first.
struct rb_rmw_module {
    uint32_t library;
    uintptr_t from, to; // from the first site to behind the last
    struct rb_rmw_site *site;
    struct rb_rmw_slot *slot;
    unsigned char *cell;
    void *map;
    size_t mapped;
    uint32_t sites; // sorted by pc; 0: the place is free
};
extern RB_HIDDEN struct rb_rmw_module rb_rmw_module[RB_RMW_MODULES];
extern RB_HIDDEN uint32_t rb_rmw_module_count;
extern RB_HIDDEN rb_spin rb_rmw_readers; // their number
extern RB_HIDDEN rb_spin rb_rmw_lock;
extern RB_HIDDEN uint64_t rb_rmw_given_up; // sites with an int3 that came too often

// Makes sites and cells for the rows of the table. Returns the module, or NULL with the error. `alone`: no
// other thread runs, so instructions behind the hooked ones can move.
RB_HIDDEN struct rb_rmw_module *rb_rmw_module_make(unsigned library, uintptr_t base,
                                                   const struct rb_rmw_table *table, bool alone, int *error);
RB_HIDDEN void rb_rmw_module_free(struct rb_rmw_module *m);

// For readers:
// Finds the site by a place among its bytes, and by a place in its cell. NULL: none.
RB_HIDDEN struct rb_rmw_site *rb_rmw_site_of_code(uintptr_t pc, struct rb_rmw_module **module);
RB_HIDDEN struct rb_rmw_site *rb_rmw_site_of_cell(uintptr_t pc, unsigned *offset);
RB_HIDDEN unsigned char *rb_rmw_cell_of_site(const struct rb_rmw_module *m, const struct rb_rmw_site *s);

#endif
