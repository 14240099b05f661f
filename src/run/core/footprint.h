// What the runtime takes of the machine's memory: the pages of its own mappings that are really there, as the
// kernel counts them. Mappings are made large and without reservation, so their sizes say what may come, not
// what is.
#ifndef RB_RUN_CORE_FOOTPRINT_H
#define RB_RUN_CORE_FOOTPRINT_H

#include "run/core/rt.h"

// A mapping made at start, or an arena that makes its own. At most 32 of both; the rest is not counted.
RB_HIDDEN void rb_footprint_map(const void *start, size_t bytes);
RB_HIDDEN void rb_footprint_arena(const struct rb_arena *a);

// Tables that are read before they are written come twice, a page at a time: first the kernel's page of
// zeros, then, when that is written to, one of their own, for which every core that runs the program is
// interrupted. That is 20 microseconds a page on a virtual machine. Populated, all pages are there at once,
// at less than two each. Those that are registered are populated by rb_footprint_warm, when somebody begins
// to look at accesses.
RB_HIDDEN void rb_footprint_populate(void *start, size_t bytes);
RB_HIDDEN void rb_footprint_table(void *start, size_t bytes); // whole pages
RB_HIDDEN void rb_footprint_warm(void);

struct rb_footprint {
    size_t resident, mapped;
};
// May be asked for while other threads go on: regions of arenas only come. errno is left alone.
RB_HIDDEN struct rb_footprint rb_footprint(void);

#endif
