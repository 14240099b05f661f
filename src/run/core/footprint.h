// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory that the runtime takes: the resident pages of its own mappings, as the kernel counts them.
// Mappings are made large and without reservation, so their sizes are upper bounds only.
#ifndef RB_RUN_CORE_FOOTPRINT_H
#define RB_RUN_CORE_FOOTPRINT_H

#include "run/core/rt.h"

// Registers a mapping made at start, or an arena that makes its own. At most 32 of each; more are not
// counted.
RB_HIDDEN void rb_footprint_map(const void *start, size_t bytes);
RB_HIDDEN void rb_footprint_arena(const struct rb_arena *a);

// Tables that are read before they are written fault twice a page: first for the kernel's page of zeros,
// then at the first write, for a page of their own. The second fault interrupts each core that runs the
// program. Populated, all pages are made at once, at a tenth of the price. rb_footprint_warm populates the
// registered tables when sampling begins.
RB_HIDDEN void rb_footprint_populate(void *start, size_t bytes);
RB_HIDDEN void rb_footprint_table(void *start, size_t bytes); // whole pages
RB_HIDDEN void rb_footprint_warm(void);

struct rb_footprint {
    size_t resident, mapped;
};
// Returns the sum. Other threads may go on: arenas only add regions. Leaves errno alone.
RB_HIDDEN struct rb_footprint rb_footprint(void);

#endif
