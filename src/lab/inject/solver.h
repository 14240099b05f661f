// What is left to Z3: moving the pair apart within a window of an order, and proving that two accesses cannot
// meet. Tool side.
//
// A window is a stretch of a correct order; what lies before it has happened and what lies behind it comes
// after. Each call has a budget; a call that runs out of it, or of memory, is counted as unknown and changes
// nothing.
#ifndef RB_LAB_INJECT_SOLVER_H
#define RB_LAB_INJECT_SOLVER_H

#include <pthread.h>

#include "lab/inject/model.h"

struct rb_solver_counts {
    uint64_t calls, sat, unsat, unknown;
};

// One for each worker; others may only interrupt it.
struct rb_solver {
    pthread_mutex_t mutex; // over `live`
    void *live;            // the context of the call that is going on
    bool interrupted;      // all further calls are unknown at once
};

void rb_solver_init(struct rb_solver *s);
void rb_solver_destroy(struct rb_solver *s);
void rb_solver_interrupt(struct rb_solver *s); // from any thread

// Reorders the places [from, to) such that more events than now stand between the pair; one of it at least is
// in there. `first` stays before the other. `enough`: a distance that need not be exceeded. True if the order
// changed.
bool rb_solver_widen(struct rb_solver *s, struct rb_order *o, uint32_t from, uint32_t to, uint32_t first,
                     uint32_t enough, bool paper, struct rb_solver_counts *counts);

enum rb_meeting {
    RB_MEETING_NEVER, // proven: no correct reordering of the window has both as the next event of their
                      // threads
    RB_MEETING_FOUND, // there is one: they race
    RB_MEETING_OPEN   // out of budget
};

// Can the accesses at the two places, both in [from, to), meet?
enum rb_meeting rb_solver_meeting(struct rb_solver *s, const struct rb_order *o, uint32_t from, uint32_t to,
                                  uint32_t one, uint32_t other, struct rb_solver_counts *counts);

#endif
