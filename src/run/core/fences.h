// C11 fences (atomics.c): on from the first fence, or from the start.
#ifndef RB_RUN_CORE_FENCES_H
#define RB_RUN_CORE_FENCES_H

#include "run/core/rt.h"

extern RB_HIDDEN bool rb_fences_on;
RB_HIDDEN void rb_fences_free(struct rb_self *me, struct rb_self *t);

#endif
