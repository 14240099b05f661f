// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Z3's tasks: moving the pair apart within a window of an order, and proving that two accesses cannot meet.
// Tool side.
//
// A window is a stretch of a correct order. The events before it have happened, and those behind it come
// after. Each call has a budget. A call that exhausts it, or memory, counts as unknown and changes nothing.
#ifndef RB_LAB_INJECT_SOLVER_H
#define RB_LAB_INJECT_SOLVER_H

#include <pthread.h>

#include "lab/inject/model.h"

struct rb_solver_counts {
    uint64_t calls, sat, unsat, unknown;
};

// One for each worker. Other threads may only interrupt it.
struct rb_solver {
    pthread_mutex_t mutex; // protects `live`
    void *live;            // the context of the current call
    bool interrupted;      // all further calls return unknown at once
};

void rb_solver_init(struct rb_solver *s);
void rb_solver_destroy(struct rb_solver *s);
void rb_solver_interrupt(struct rb_solver *s); // from any thread

// Reorders the places [from, to) such that more events than now stand between the pair, at least one of
// which is in the window. `first` stays before the other. `enough`: a distance that need not be exceeded.
// Returns true if the order changed.
bool rb_solver_widen(struct rb_solver *s, struct rb_order *o, uint32_t from, uint32_t to, uint32_t first,
                     uint32_t enough, bool paper, struct rb_solver_counts *counts);

enum rb_meeting {
    RB_MEETING_NEVER, // proven: no correct reordering of the window has both next
    RB_MEETING_FOUND, // such a reordering exists: they race
    RB_MEETING_OPEN   // out of budget
};

// Decides if the accesses at the two places, both in [from, to), can meet.
enum rb_meeting rb_solver_meeting(struct rb_solver *s, const struct rb_order *o, uint32_t from, uint32_t to,
                                  uint32_t one, uint32_t other, struct rb_solver_counts *counts);

#endif
