// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cost of threads that wait because others were delayed. A thread that is held up for a microsecond
// while it has a lock makes others sleep; each sleep and awakening costs the program and the kernel more
// than the microsecond. No clock of ours sees that. But the kernel counts how often threads are switched,
// and the usual number is known from turns of the ticker in which tracking was paused. docs/explanation/sampling.md,
// "Waiting". Written by the ticker; `unknown` is read by all threads.
#ifndef RB_RUN_SYNC_WAITING_H
#define RB_RUN_SYNC_WAITING_H

#include "run/core/rt.h"

struct rb_waiting {
    uint64_t waited, preempted, yielded; // counts of the kernel and of yields, at the last turn
    uint64_t episodes;                   // episodes begun by then
    bool follows;                        // synchronisation was followed at the last turn
    bool before; // it was followed at some time in the turn before: a queue of threads outlives its cause
    struct rb_waiting_pace {
        double ns, switches; // of the program itself, lately
    } at_rest, followed;
    double since_ns; // the program's own time when tracking was last paused
    bool unknown;    // the usual number, though it matters: tracking is paused until it is known
    double more;     // switches beyond the usual that are not charged yet; negative: fewer
};

// Ends a turn, of which the program itself used `turn_ns`, and `own_ns` since its start. Returns the cost
// of waiting beyond the usual, in nanoseconds.
RB_HIDDEN double rb_waiting_turn(struct rb_waiting *w, double turn_ns, double own_ns, uint64_t episodes);
RB_HIDDEN void rb_waiting_yielded(void); // by sched_yield
// Notes that an episode begins or ends.
RB_HIDDEN void rb_waiting_change(struct rb_waiting *w, uint64_t episodes, bool follows);

#endif
