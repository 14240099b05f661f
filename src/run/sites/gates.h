// What passing through gates and probes tells: how long a thread stays in a body whose hooks sleep, what that
// costs, and whether anything was looked at there meanwhile. For the sampler that goes by cost;
// docs/sampling.md, "Functions with two bodies".
#ifndef RB_RUN_SITES_GATES_H
#define RB_RUN_SITES_GATES_H

#include "run/sites/sites.h"

struct rb_gate_pass {
    uint64_t ticks; // what the body behind it has cost since the thread's last pass, in hooks that sleep
    bool idle;      // nothing there was worth that
};

// The thread goes through the gate, or comes to the probe. Inside the guard.
RB_HIDDEN struct rb_gate_pass rb_gate_pass(struct rb_self *me, struct rb_site *gate, double ticks_a_ns);
// It is closed: what the thread does from now on is not behind it.
RB_HIDDEN void rb_gate_closed(struct rb_self *me);
// A site was looked at: by way of the gate that the thread went through last.
RB_HIDDEN void rb_gate_looked(struct rb_self *me, struct rb_site *s);

#endif
