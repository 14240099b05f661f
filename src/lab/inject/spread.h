// Moves an injected pair apart: the direct scheduler first, the solver for what it cannot do. Tool side.
#ifndef RB_LAB_INJECT_SPREAD_H
#define RB_LAB_INJECT_SPREAD_H

#include "base/rng.h"
#include "lab/inject/partition.h"
#include "lab/inject/solver.h"

enum rb_encoding {
    RB_ENCODING_TIGHT, // scheduler, then difference logic over what can conflict
    RB_ENCODING_PAPER  // the solver alone, with a number in [1, n] for each event and all pairs
};

struct rb_spread_plan {
    enum rb_encoding encoding;
    uint32_t window;
    bool bounded;      // the user gave a distance
    uint64_t distance; // that; the pair is moved no further than needed
    const int *stop;   // not 0: come to an end; set by another thread
};

static inline bool rb_spread_stopped(const struct rb_spread_plan *plan)
{
    return rb_load_relaxed(plan->stop);
}

// What was done for one trace.
struct rb_spread_facts {
    uint32_t moves; // of the scheduler that were applied
    struct rb_solver_counts solver;
};

// All that one worker needs.
struct rb_spread {
    struct rb_order order;
    struct rb_partition partition;
    struct rb_solver *solver;
};

bool rb_spread_alloc(struct rb_spread *s, const struct rb_model *m, struct rb_solver *solver);
void rb_spread_free(struct rb_spread *s);

// Leaves in s->order a correct order with the pair, injected at `point`, as far apart as the plan asks and
// the budget allows. Everything is a function of the generator's state.
void rb_spread_pair(struct rb_spread *s, uint32_t point, const struct rb_spread_plan *plan,
                    struct rb_rng *rng, struct rb_spread_facts *facts);

#endif
