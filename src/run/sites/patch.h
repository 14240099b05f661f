// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Code of loaded files that is about to be written: its bounds, and its pages' protection. The writer changes
// the protection for as long as it writes, and puts it back.
#ifndef RB_RUN_SITES_PATCH_H
#define RB_RUN_SITES_PATCH_H

#include "run/core/rt.h"

struct rb_patch_text {
    uintptr_t start, end; // of the segment
    uintptr_t from, to;   // of its pages, or some of them
    int protection;
};

// Finds the code in the file at `from` that has a page between the two. Returns false if there is none.
RB_HIDDEN bool rb_patch_find(uintptr_t from, uintptr_t to, struct rb_patch_text *t);
// Returns the pages around the place that are made writable together.
RB_HIDDEN struct rb_patch_text rb_patch_span(const struct rb_patch_text *text, uintptr_t pc);
// Changes the protection of the pages. Returns false, with errno, if the kernel refuses.
RB_HIDDEN bool rb_patch_protect(const struct rb_patch_text *t, int protection);

#endif
