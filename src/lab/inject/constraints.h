// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Z3, and a window of an order as constraints for it. Tool side.
#ifndef RB_LAB_INJECT_CONSTRAINTS_H
#define RB_LAB_INJECT_CONSTRAINTS_H

#include <z3.h>

#include "base/error.h"
#include "lab/inject/model.h"

// ---- Z3 ------------------------------------------------------------------------------------------------

// Z3, loaded when it is needed. Only one command uses it, and the tool is also the front end of a compiler:
// it must not take twice as long to start, and must work without the library.
struct rb_z3 {
#define RB_Z3(name) __typeof__(&Z3_##name) name;
#include "lab/inject/z3_functions.def"
#undef RB_Z3
};
extern struct rb_z3 rb_z3; // written once, by the first rb_z3_load

// Loads Z3 once; any thread may call it. Returns 0, or a negative errno and in `e` (may be NULL) the
// package to install.
int rb_z3_load(struct rb_error *e);

// ---- windows -------------------------------------------------------------------------------------------

// A window of an order as constraints for Z3, in difference logic: an integer for the position of each
// event, and "before" between pairs that R1 to R5 tie. Two forms:
//   complete   all events of the window happen (to move a pair apart)
//   prefix     a bool for each event says if it happens at all (to decide if two accesses can meet)
// Positions need not be different: events without an order between them may share one.
struct rb_window {
    const struct rb_order *order;
    uint32_t from, to, count; // places; events are numbered from 0 within the window
    Z3_context z;
    Z3_solver solver;
    Z3_ast *position;
    Z3_ast *happens;     // prefix form; NULL in the complete one
    uint32_t waiting[2]; // prefix form: the accesses that must be the next events; else RB_NO_EVENT
    bool plain;          // all pairs, all different, in [1, count]: the paper's encoding
    bool no_memory;
};

// Asserts all constraints. The caller makes the context and the solver.
void rb_window_constrain(struct rb_window *w);

static inline uint32_t rb_window_event(const struct rb_window *w, uint32_t k)
{
    return w->order->event[w->from + k];
}

static inline Z3_ast rb_window_less(const struct rb_window *w, uint32_t a, uint32_t b)
{
    return rb_z3.mk_lt(w->z, w->position[a], w->position[b]);
}

#endif
