// The machine's data breakpoints, as the kernel gives them (perf_event_open): one set of up to four for all
// threads of the process. What is done with a hit is the caller's: run/watchpoint/watchpoints.c, run/watchpoint/trap_races.c,
// and the agent of `railbird watch`. Libc alone, and no malloc.
//
// A trap comes after the instruction and on its thread, as SIGTRAP, before anything else runs there.
#ifndef RB_INPROC_BREAKPOINTS_H
#define RB_INPROC_BREAKPOINTS_H

#include <linux/perf_event.h>
#include <signal.h>
#include <ucontext.h>

#include "base/types.h"

#define RB_BREAKPOINTS     4u    // at most
#define RB_BREAKPOINT_NONE 0xffu // a SIGTRAP that is none of ours
#define RB_BREAKPOINT_LOST 0xfeu // ours, and nothing is left to do

struct rb_breakpoint {
    int fd;
    bool set; // or about to be; written before the kernel is told
    struct perf_event_attr attr;
};

// Written by the thread that opens; later `attr` by who sets one, of which there must be one at a time, and
// `set` by anybody.
struct rb_breakpoints {
    uint32_t count; // 0: not open
    struct rb_breakpoint at[RB_BREAKPOINTS];
    uint64_t trap_ticks; // what a trap costs, but for what is done in it; rb_arch_ticks
};
extern struct rb_breakpoints rb_breakpoints;

// What a SIGTRAP says.
struct rb_breakpoint_hit {
    unsigned number;   // of the breakpoint, or RB_BREAKPOINT_NONE, RB_BREAKPOINT_LOST
    uintptr_t address; // that it was set to when it was hit
    bool late;         // the signal was blocked: the thread has gone on since
};

// Opens them for the calling thread and for all that it and its descendants make from now on, and not for
// children of fork; so it is to be called before the second thread. `take_sigtrap` installs the handler,
// which asks rb_breakpoint_hit. NULL, or the words for why there are none; then all is closed again.
const char *rb_breakpoints_open(bool (*take_sigtrap)(void));
// Also for the child of fork, whose descriptors are the parent's events.
void rb_breakpoints_close(void);
bool rb_breakpoints_are_ours(void); // this process opened them: false in a child, also of vfork
// A debugger would be shown every trap, and stop. Reads a file of /proc.
bool rb_breakpoints_traced(void);
// Hits of which no handler heard, since the last call: a thread that has SIGTRAP blocked by means that are
// not seen is slowed down by each. One thread at a time.
int64_t rb_breakpoints_unheard(void);

// The largest piece at the beginning of the bytes that one can have: 1, 2, 4 or 8, aligned.
unsigned rb_breakpoint_piece(uintptr_t address, uint64_t size);
// Sets or moves one, in all threads; one caller at a time. False: the descriptor is not ours any more.
bool rb_breakpoint_set(unsigned number, uintptr_t address, unsigned bytes, bool writes_only);
// By anybody, at any time, also from within a trap.
bool rb_breakpoint_clear(unsigned number);
void rb_breakpoints_clear_all(void); // those that are set, if they are ours
// For the handler of SIGTRAP; counts the hit as heard.
struct rb_breakpoint_hit rb_breakpoint_hit(const siginfo_t *info, const ucontext_t *context);

static inline bool rb_breakpoint_is_set(unsigned number)
{
    return rb_load_relaxed(&rb_breakpoints.at[number].set);
}

#endif
