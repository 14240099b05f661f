// What a thread keeps for the sampler that runs (sampling.h); a part of rb_self, all zero before the thread
// starts. Touched by the thread alone.
#ifndef RB_RUN_CORE_SAMPLING_STATE_H
#define RB_RUN_CORE_SAMPLING_STATE_H

#include "base/types.h"

struct rb_sampling {
    uint32_t *counted;     // the process's number of threads, or of fibers, that it is part of; NULL: none
    bool take;             // pacer: of the batch at hand
    bool behind;           // adaptive: a gate, or a probe that led to the body with hooks
    uint32_t odd;          // adaptive: accesses so far at places that cannot sleep, by what they cost
    bool odd_asked;        // adaptive: the last question was at one
    uint64_t odd_due;      // adaptive: where the clock would be if those had come no closer than is wanted
    uint32_t window;       // adaptive: the last window seen
    uintptr_t gate;        // adaptive: the last it went through,
    uint64_t gate_ticks;   // adaptive: and when,
    uint64_t gate_ns;      // adaptive: and its CPU time then, or 0
    uint8_t gate_switched; // adaptive: and how often it had been switched
    uint32_t looks;        // adaptive: accesses looked at
    uint32_t gate_looks;   // adaptive: and how many at the last gate
    uint32_t overs;        // adaptive: calls of sites whose burst was over, since the last look
    uint64_t away_ticks;   // of the time since the last account, in calls of the kernel that may wait or be
                           // scheduled,
    uint64_t away_ns;      // and of that on a core
    uint64_t ticks;        // adaptive: spent, not yet told the process
    uint64_t sync_ticks;   // adaptive: the same, on synchronisation
    uint64_t synced;       // adaptive: operations that are in that
    uint64_t blocks;       // adaptive: and blocks of the heap,
    uint64_t forgotten;    // adaptive: and lines of memory whose history went with them
    bool outside;          // regions: are accesses outside any function taken?
    uint64_t delay_next;   // datacollider: when it may be delayed again, in ticks
    uint32_t left;         // pacer: accesses left of the batch
    uint32_t state;        // rpt: as last seen
    uint32_t pending;      // rpt: events not yet added to the process's
    int32_t held;          // rpt: locks held
    uint32_t depth, room;  // regions: open calls, and room for them
    uint32_t beyond;       // regions: open calls deeper than that
    uint32_t functions;    // regions: in the table below
    uint32_t slots;        // of the table
    uintptr_t *open;       // open calls, innermost last: the stack pointer, and in bit 0 whether it is taken
    struct rb_function *function;
};

#endif
