// Libraries that are loaded and unloaded while the program runs. The loader has a lock, held while
// constructors and destructors run: whoever gets a library is ordered after its constructors, and the
// destructors after all who have closed it. So an object stands for that lock: dlopen and dlclose release and
// acquire it, before and after.
//
// Which of several threads inside the loader is served first is not known. The first of them is followed. Of
// the others nothing is recorded while they are inside, and an edge is lost when they enter and when they
// leave:
//   what one of them did before        is forgotten, and so ordered before everybody's constructors and
//   destructors what runs inside for one of them   is not recorded, and so races with nothing what ran inside
//   for the first      is forgotten when another leaves, who may use the library from then on
// Nobody waits here: a lock of ours around the loader's could be taken in the other order by a constructor.
#ifndef RB_RUN_INTERCEPT_LIBRARIES_H
#define RB_RUN_INTERCEPT_LIBRARIES_H

#include "run/core/upcalls.h"

// Around dlopen and dlclose, outside the guard. The loader may call them again meanwhile, on the same thread.
RB_HIDDEN void rb_libraries_begin(bool closing);
RB_HIDDEN void rb_libraries_end(void);
// Inside the guard: what runs next is a destructor that the end of the process calls.
RB_HIDDEN void rb_libraries_acquire(struct rb_self *me);
// The one thread of a child is inside by itself, if it is.
RB_HIDDEN void rb_libraries_after_fork(void);

#endif
