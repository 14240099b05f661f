// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pairs of conflicting accesses of a written trace that do not race, for uses that need both kinds of
// examples. Tool side.
//
// Candidates are accesses of two threads to one variable, at least one a write, at most a window apart,
// ordered by happens-before. `proof` is the claim about each:
//   trace    no correct reordering of the whole trace has both next: they cannot race. Both are in
//            sections of one lock, or the solver has shown it
//   window   the solver has shown it for the reorderings of the window, after the unchanged events before
//            it
//   hb       happens-before orders them; more is unknown, because the solver's budget was too small
// A candidate for which the solver finds an order with both next is a race, and is dropped.
#ifndef RB_LAB_INJECT_NEGATIVES_H
#define RB_LAB_INJECT_NEGATIVES_H

#include "base/rng.h"
#include "lab/inject/solver.h"

enum rb_proof { RB_PROOF_TRACE, RB_PROOF_WINDOW, RB_PROOF_HB };
extern const char *const rb_proof_names[];

#define RB_MOST_NEGATIVES 64u

struct rb_negative {
    uint32_t at[2]; // places, which are the numbers of the events in the written trace
    uint32_t from, to;
    enum rb_proof proof;
};

// State of a worker: the threads and objects that happens-before has reached, see negatives.c.
struct rb_reach {
    uint32_t *threads, *objects, *readers;
    uint32_t round;
};

bool rb_reach_alloc(struct rb_reach *r, const struct rb_model *m); // false: memory is out
void rb_reach_free(struct rb_reach *r);

// Fills up to `most` negatives (at most RB_MOST_NEGATIVES) and returns their number. `races` counts the
// dropped candidates.
uint32_t rb_negatives(struct rb_reach *r, const struct rb_order *o, struct rb_solver *solver, uint32_t window,
                      struct rb_rng *rng, struct rb_negative *out, uint32_t most,
                      struct rb_solver_counts *counts, uint64_t *races);

#endif
