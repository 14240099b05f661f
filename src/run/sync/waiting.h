// Threads that wait because others were detained: a thread that is held up for a microsecond while it has a
// lock makes others sleep, and each sleep and awakening costs the program and the kernel more than the
// microsecond. No clock of ours sees that; but the kernel counts how often threads are switched, and what is
// usual is known from turns of the ticker in which nothing was followed. docs/sampling.md, "Waiting". Written
// by the ticker; `unknown` is read by all.
#ifndef RB_RUN_SYNC_WAITING_H
#define RB_RUN_SYNC_WAITING_H

#include "run/core/rt.h"

struct rb_waiting {
    uint64_t waited, preempted, yielded; // threads, at the last turn
    uint64_t episodes;                   // that had begun by then
    bool follows;                        // synchronisation was followed then
    bool before; // or was at some time in the turn before it: a queue of threads outlives its cause
    struct rb_waiting_pace {
        double ns, switches; // of the program itself, lately
    } at_rest, followed;
    double since_ns; // the program's own time when it last rested
    bool unknown;    // what is usual, though it matters: all rests until it is known
    double more;     // switches beyond those at rest that are not charged yet; or fewer
};

// A turn is over: of it the program itself used `turn_ns`, of all `own_ns`. What waiting beyond the usual has
// cost, in nanoseconds.
RB_HIDDEN double rb_waiting_turn(struct rb_waiting *w, double turn_ns, double own_ns, uint64_t episodes);
RB_HIDDEN void rb_waiting_yielded(void); // by sched_yield
// An episode begins or ends.
RB_HIDDEN void rb_waiting_change(struct rb_waiting *w, uint64_t episodes, bool follows);

#endif
