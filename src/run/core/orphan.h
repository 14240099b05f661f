// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A process beside the program: it shares the memory, none of the descriptors' changes and none of the
// handlers, and the program does not notice it. It is an orphan from the start, because the process that made
// it has ended: no additional child, no zombie, no SIGCHLD.
//
// Orphans become the program's children if it is number 1, or a subreaper. Then the process is a child without
// an exit signal, and must itself wait for processes that it makes.
#ifndef RB_RUN_CORE_ORPHAN_H
#define RB_RUN_CORE_ORPHAN_H

#include "inproc/host.h"

#define RB_ORPHAN_STACK 32768u

// Kept until the process has ended.
struct rb_orphan {
    int (*run)(void *given); // makes system calls alone, and none that changes errno while a thread goes on
    void *given;
    uint32_t living; // cleared by the kernel when the process has ended
    bool is_child;   // of the program
    char first_stack[RB_ORPHAN_STACK] __attribute__((aligned(16)));
    char stack[RB_ORPHAN_STACK] __attribute__((aligned(16)));
};

// Starts the process, with all signals blocked; `run` and `given` are set. Returns its number if it is a child,
// which is to be reaped, else 0. If it cannot be made, `living` is 0.
RB_HIDDEN long rb_orphan_start(struct rb_orphan *o);
// Waits for a child that has ended, or ends soon. 0: there is none.
RB_HIDDEN void rb_orphan_reap(long child);
// Closes all descriptors from this one.
RB_HIDDEN void rb_close_from(int first);

#endif
