// A thread of the runtime's own, for what must happen while the program's threads are busy elsewhere. libc
// does not know of it: it is begun by the kernel's clone, so no heap is used and no handler of the program
// ever runs on it. It exists only while the process has other threads besides one.
#ifndef RB_RUN_CORE_TICKER_H
#define RB_RUN_CORE_TICKER_H

#include "run/core/rt.h"

// `turn` is called again and again on that thread; it says in how many nanoseconds next, or RB_TICKER_END.
// Without rb_self: it may use nothing of the runtime that needs one. Called whenever a thread is about to be
// made: a thread that is ending goes on then. False if there can be none.
#define RB_TICKER_END UINT64_MAX
RB_HIDDEN bool rb_ticker_start(uint64_t (*turn)(void));
RB_HIDDEN void rb_ticker_stop(void); // no turn begins after this
RB_HIDDEN void rb_ticker_end(void);  // the same, and the thread has ended
RB_HIDDEN void rb_ticker_reset_after_fork(void);

#endif
