// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The machine's data breakpoints, provided by the kernel (perf_event_open): one set of up to four for all
// threads of the process. The caller decides about a hit: run/watchpoint/watchpoints.c,
// run/watchpoint/collide.c, and the agent of `railbird watch`. Libc alone, and no malloc.
//
// A trap comes after the instruction and on its thread, as SIGTRAP, before any other code runs there.
#ifndef RB_INPROC_BREAKPOINTS_H
#define RB_INPROC_BREAKPOINTS_H

#include <linux/perf_event.h>
#include <signal.h>
#include <ucontext.h>

#include "base/types.h"

#define RB_BREAKPOINTS     4u    // at most
#define RB_BREAKPOINT_NONE 0xffu // a SIGTRAP that is none of ours
#define RB_BREAKPOINT_LOST 0xfeu // ours, and there is nothing left to do

struct rb_breakpoint {
    int fd;
    bool set; // or about to be; written before the kernel is called
    struct perf_event_attr attr;
};

// Written by the thread that opens them. Later `attr` is written by the thread that sets one, one thread at
// a time, and `set` by any thread.
struct rb_breakpoints {
    uint32_t count; // 0: not open
    struct rb_breakpoint at[RB_BREAKPOINTS];
    uint64_t trap_ticks; // cost of a trap without the handler's own work; rb_arch_ticks
};
extern struct rb_breakpoints rb_breakpoints;

// The contents of a SIGTRAP.
struct rb_breakpoint_hit {
    unsigned number;   // of the breakpoint, or RB_BREAKPOINT_NONE, RB_BREAKPOINT_LOST
    uintptr_t address; // that it was set to when it was hit
    bool late;         // the signal was blocked: the thread has gone on since
};

// Opens them for the calling thread and for all threads that it and its descendants create from now on, but
// not for children of fork. So it must be called before the second thread. `take_sigtrap` installs the
// handler, which calls rb_breakpoint_hit. Returns NULL, or the reason why there are none; then all is
// closed again.
const char *rb_breakpoints_open(bool (*take_sigtrap)(void));
// Closes them; also for the child of fork: its descriptors are the parent's events.
void rb_breakpoints_close(void);
bool rb_breakpoints_are_ours(void); // this process opened them: false in a child, also of vfork
// Returns true if a debugger is attached: it would be shown every trap, and stop. Reads a file of /proc.
bool rb_breakpoints_traced(void);
// Returns the hits since the last call that no handler received. A thread that has blocked SIGTRAP by means
// unknown to us is slowed down by each. One thread at a time.
int64_t rb_breakpoints_unheard(void);

// Returns the largest piece at the beginning of the bytes that one can cover: 1, 2, 4 or 8, aligned.
unsigned rb_breakpoint_piece(uintptr_t address, uint64_t size);
// Reads up to 8 bytes by the kernel, for which a fault is no signal. Returns 0 or an errno.
int rb_breakpoint_value(uintptr_t address, uint64_t bytes, uint64_t *value);
// Sets or moves one, in all threads; one caller at a time. Returns false if the descriptor is not ours any
// more.
bool rb_breakpoint_set(unsigned number, uintptr_t address, unsigned bytes, bool writes_only);
// Clears one; from any thread, at any time, also from within a trap.
bool rb_breakpoint_clear(unsigned number);
void rb_breakpoints_clear_all(void); // those that are set, if they are ours
// Decodes a SIGTRAP for its handler; counts the hit as received.
struct rb_breakpoint_hit rb_breakpoint_hit(const siginfo_t *info, const ucontext_t *context);

static inline bool rb_breakpoint_is_set(unsigned number)
{
    return rb_load_relaxed(&rb_breakpoints.at[number].set);
}

#endif
