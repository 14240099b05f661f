// Accesses that fault. A hook comes before its access, so it announces accesses that may never happen: the program's
// handler of the fault may jump away. Such an access races with nothing. Three rules follow:
//   report   a race whose second access would fault is dropped;
//   history  the rest of the page, from the address of the fault on, is forgotten before the handler runs;
//   trace    the thread's last access, if it is the one that faulted, leaves the recording before the handler runs, and
//            comes back if the handler returns, as the instruction is done again then.
#ifndef RB_RUN_ACCESS_FAULTS_H
#define RB_RUN_ACCESS_FAULTS_H

#include "run/access/access.h"
#include "run/record/record.h"

// Reads up to 8 bytes of the program's memory by the kernel. Returns 0 or -errno.
RB_HIDDEN int rb_memory_read(uintptr_t address, size_t bytes, uint64_t *value);
// Returns true if the access is known to fault.
RB_HIDDEN bool rb_access_faults(const struct rb_touch *t);

// Forgets the access that has faulted at the address, outside the guard. NULL: of a thread without a state.
RB_HIDDEN void rb_access_undo(struct rb_self *me, uintptr_t address, struct rb_undone *undone);
// Records it after all, once the program's handler has returned.
RB_HIDDEN void rb_access_redo(struct rb_self *me, const struct rb_undone *undone);

#endif
