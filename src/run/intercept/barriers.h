// pthread's barriers; see barriers.c.
#ifndef RB_RUN_INTERCEPT_BARRIERS_H
#define RB_RUN_INTERCEPT_BARRIERS_H

#include "run/core/rt.h"

// Single-threaded; the arena has been emptied already.
RB_HIDDEN void rb_barriers_reset_after_fork(void);

#endif
