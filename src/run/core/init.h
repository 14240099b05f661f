// Start and end of the runtime in a process, and what the user asked of it.
#ifndef RB_RUN_CORE_INIT_H
#define RB_RUN_CORE_INIT_H

#include "run/core/rt.h"

// Starts the runtime; once. The environment is for when libc does not have it yet.
RB_HIDDEN void rb_init(char *const *environment);
// fork handlers, before any of the program's (process.c).
RB_HIDDEN void rb_watch_fork(void);
RB_HIDDEN void rb_watch_quick_exit(void);
RB_HIDDEN void rb_watch_exit(void);
// exit waits for other threads, as atexit_sleep_ms says. Called before the first of them is made: what the program has
// registered by then is destroyed after the wait.
RB_HIDDEN void rb_watch_exit_to_wait(void);
RB_HIDDEN void rb_libraries_came(void); // perhaps
// In the child of fork: everything anew, for its one thread.
RB_HIDDEN void rb_init_after_fork(void);
// Returns false in a child that the runtime was not told of: its one thread is no parallel of its parent's.
RB_HIDDEN bool rb_is_our_process(void);
// Statistics, and the exit status to use instead of `status`.
RB_HIDDEN int rb_finish(int status);
// halt_on_error: ends the program now.
RB_HIDDEN void rb_halt(void) __attribute__((noreturn));
// Statistics as asked for (stats.c).
RB_HIDDEN void rb_stats_print(void);
// Says in a line that the history had no room for some accesses, if that is so. Nobody need ask.
RB_HIDDEN void rb_stats_say_dropped(void);

// Places the program has declared to race by intention (annotations.c).
RB_HIDDEN bool rb_is_benign(uintptr_t address);

#endif
