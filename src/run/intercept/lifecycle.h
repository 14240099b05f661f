// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// State of the interceptors that belongs to the whole process: open barriers, loaded libraries,
// confinement. Each part has a file of its own, which alone changes it. Other files call these functions at
// a fork, a load, a filter of system calls, or the end of the process.
#ifndef RB_RUN_INTERCEPT_LIFECYCLE_H
#define RB_RUN_INTERCEPT_LIFECYCLE_H

#include "run/core/rt.h"

// ---- barriers.c ----------------------------------------------------------------------------------------

// Forgets all rounds: the threads inside them do not exist in the child.
// Single-threaded; the arena has been emptied already.
RB_HIDDEN void rb_barriers_reset_after_fork(void);

// ---- libraries.c ---------------------------------------------------------------------------------------
// Libraries that are loaded and unloaded while the program runs. The loader holds a lock while constructors
// and destructors run. So a thread that gets a library is ordered after its constructors. The destructors
// are ordered after all threads that have closed it. An object stands for that lock: dlopen and dlclose
// release and acquire it, before and after.
//
// Several threads may be inside the loader, and their order is not known. The first one to enter is followed.
// The others are not recorded while they are inside, and an edge is lost when they enter and leave:
//   earlier accesses of another   are forgotten, and so ordered before all constructors and destructors
//   accesses inside, of another   are not recorded, and so race with nothing
//   accesses inside, of the first are forgotten when another leaves, as it may use the library then
// No thread waits here: a constructor could take a lock of ours and the loader's in the other order.

// Around dlopen and dlclose, outside the guard. The loader may call
// them again meanwhile, on the same thread.
RB_HIDDEN void rb_libraries_begin(bool closing);
RB_HIDDEN void rb_libraries_end(void);
// Acquires the loader's lock for a destructor that runs at the end of the process. Inside the guard.
RB_HIDDEN void rb_libraries_acquire(struct rb_self *me);
// Returns true if the thread is inside dlopen or dlclose, and so in the loader's lock.
RB_HIDDEN bool rb_libraries_is_inside(void);
// Counts the one thread of a child as inside the loader, if it is, and no other.
RB_HIDDEN void rb_libraries_after_fork(void);

// ---- sandbox.c -----------------------------------------------------------------------------------------
// A process confines itself by a filter of system calls (seccomp). From then on the runtime makes no system
// call that the program does not make itself: the filter may end the process at any other.
//
// Invariant: rb_host.sandboxed is set before the filter is installed, and is never cleared. Each
// place of the runtime that needs the kernel asks it first and does without.
// docs/reference/system-calls.md has the list.

// Prepares for a filter that is about to be installed: ends the runtime's thread, maps the memory that may
// still be used, starts the reporter. Called outside the guard; only the first call has an effect.
RB_HIDDEN void rb_sandbox_begins(void);
// Calls rb_sandbox_begins if this system call installs a filter (prctl, seccomp). In
// strict mode the thread leaves the runtime.
RB_HIDDEN void rb_sandbox_call(long number, long a, long b, long c);

#endif
