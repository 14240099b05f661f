// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parts of a thread's state (rb_self) that belong to one room each, all zero before the thread starts:
// real-time signals that wait for rb_leave (signals_queue.c), and the variables of the sampler that runs
// (sampling.h), libraries without hooks.
#ifndef RB_RUN_CORE_THREAD_STATE_H
#define RB_RUN_CORE_THREAD_STATE_H

#include "base/types.h"

enum { RB_SIGNALS_KEPT = 8 };

struct rb_kept_signal {
    uint64_t order;    // of arrival
    uint32_t number;   // 0: free. Freed by its own handler alone, which the kernel runs one at a time
    char contents[48]; // as the kernel writes them: the rest of a siginfo_t is zero
};

// Written by the thread's signal handlers.
struct rb_signal_queue {
    struct rb_kept_signal kept[RB_SIGNALS_KEPT];
    uint64_t arrivals;
    uint32_t count; // of those kept
    // A bit for each signal, from 1: the kernel had no room for a token, so the signal was sent without
    // contents.
    uint64_t overflowed;
};

// Read and written by the thread alone. The name before the colon is the sampler that uses the field.
struct rb_sampling {
    uint32_t *counted;      // the process's number of threads, or of fibers, that it is part of; NULL: none
    bool take;              // pacer: takes the accesses of this batch
    uint32_t window;        // adaptive: the last window seen
    uintptr_t gate;         // adaptive: the last gate passed,
    uint64_t gate_ticks;    // adaptive: and the time then
    uint64_t unpatched_due; // adaptive: the clock when the last look at such a place is earned,
    uint32_t unpatched_gap; // adaptive: and the accesses there between two looks, in the mean
    uint64_t away_ticks;    // since the last account: ticks in system calls that may wait or be scheduled,
    uint64_t away_ns;       // and the part of them on a core
    uint64_t ticks;         // adaptive: spent, not yet added to the process's
    uint64_t sync_ticks;    // adaptive: the same, on synchronisation
    uint64_t synced;        // adaptive: operations counted in that
    bool outside;           // regions: takes accesses outside any function
    uint64_t delay_next;    // datacollider: earliest tick of the next delay
    uint32_t left;          // pacer: accesses left of the batch
    uint32_t state;         // rpt: as last seen
    uint32_t pending;       // rpt: events not yet added to the process's
    int32_t held;           // rpt: locks held
    uint32_t depth, room;   // regions: open calls, and room for them
    uint32_t beyond;        // regions: open calls deeper than that
    uint32_t functions;     // regions: in the table below
    uint32_t slots;         // of the table
    uintptr_t *open;        // open calls, innermost last: the stack pointer; bit 0: it is taken
    struct rb_function *function;
};

// Libraries without hooks that the thread may be inside of, or has left since it last acquired their order
// (room unseen): a bit each. `always` is in `pending` at all times.
struct rb_unseen_state {
    uint64_t pending, always;
    uintptr_t entry; // where the return address of the outermost call is,
    uintptr_t back;  // and that address; 0: not known
};

#endif
