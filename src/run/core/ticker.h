// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thread of the runtime's own, for work that must be done while the program's threads are busy elsewhere.
// libc does not know of it: the kernel's clone makes it, so no heap is used and no handler of the program
// runs on it. It exists only while the process has other threads besides one.
#ifndef RB_RUN_CORE_TICKER_H
#define RB_RUN_CORE_TICKER_H

#include "run/core/rt.h"

// Starts the thread, which calls `turn` repeatedly. `turn` returns the nanoseconds until the next call, or
// RB_TICKER_END. It has no rb_self, and may use nothing of the runtime that needs one. To be called before
// each new thread of the program: a ticker that is ending goes on then. Returns false if there can be none.
#define RB_TICKER_END UINT64_MAX
RB_HIDDEN bool rb_ticker_start(uint64_t (*turn)(void));
RB_HIDDEN void rb_ticker_stop(void); // no turn begins after this
RB_HIDDEN void rb_ticker_end(void);  // the same, and the thread has ended
RB_HIDDEN void rb_ticker_reset_after_fork(void);

#endif
