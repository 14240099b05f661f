// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Moves an injected pair apart: by the direct scheduler first, then by the solver. Tool side.
#ifndef RB_LAB_INJECT_SPREAD_H
#define RB_LAB_INJECT_SPREAD_H

#include "base/rng.h"
#include "lab/inject/partition.h"
#include "lab/inject/solver.h"

enum rb_encoding {
    RB_ENCODING_TIGHT, // scheduler, then difference logic over events that can conflict
    RB_ENCODING_PAPER  // the solver alone, with a number in [1, n] for each event and all pairs
};

struct rb_spread_plan {
    enum rb_encoding encoding;
    uint32_t window;
    bool bounded;      // the user requested a distance
    uint64_t distance; // that distance; the pair is moved no further than needed
    const int *stop;   // set to nonzero by another thread: finish
};

static inline bool rb_spread_stopped(const struct rb_spread_plan *plan)
{
    return rb_load_relaxed(plan->stop);
}

// The work done for one trace.
struct rb_spread_facts {
    uint32_t moves; // moves of the scheduler that were applied
    struct rb_solver_counts solver;
};

// State of one worker.
struct rb_spread {
    struct rb_order order;
    struct rb_partition partition;
    struct rb_solver *solver;
};

bool rb_spread_alloc(struct rb_spread *s, const struct rb_model *m, struct rb_solver *solver);
void rb_spread_free(struct rb_spread *s);

// Leaves in s->order a correct order with the pair, injected at `point`, as far apart as the plan asks and
// the budget allows. The result is a function of the generator's state.
void rb_spread_pair(struct rb_spread *s, uint32_t point, const struct rb_spread_plan *plan,
                    struct rb_rng *rng, struct rb_spread_facts *facts);

#endif
