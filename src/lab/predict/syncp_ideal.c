// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ideal of two events e1 and e2: the least set of events that
//   contains all events before e1 and before e2 in their threads,
//   is closed under the clocks (it contains the past of each event), and
//   contains, of two sections of a lock that exclude each other and have both begun in it, the release of
//   the earlier one.
// In the order of the trace it is a correct reordering that keeps the order of sections. Any such
// reordering with e1 and e2 next contains it. So the two are a race that preserves synchronisation iff the
// ideal contains neither (docs/explanation/engines.md). It never contains e2: every rule adds events that are earlier
// in the trace than an event of the set.
//
// Only a section that is open where its thread's part of the ideal ends can break the third rule. A round
// therefore examines those: T threads, as many sections each as are nested. A round that changes the set
// adds the end of a section. Kept ideals only grow, so the rounds of each add up to at most the number of
// sections of the trace.
#include "lab/predict/syncp.h"

void rb_syncp_reach(const struct syncp *p, uint32_t *ideal, uint32_t thread, uint32_t time)
{
    // The clock's own entry is older than `time`, and that of the ideal may be newer than either.
    const uint32_t own = ideal[thread] > time ? ideal[thread] : time;

    rb_clock_max(&p->clocks, ideal, rb_syncp_clock(&p->threads[thread], time));
    ideal[thread] = own;
}

// Returns the least time at which the thread's part may end, given the sections open at its end; 0: it may
// stay.
static uint32_t must_reach(const struct syncp *p, const uint32_t *ideal, uint32_t thread)
{
    const struct syncp_thread *t = &p->threads[thread];
    uint32_t reach = 0;

    for (uint32_t i = rb_syncp_section_at(t, ideal[thread]); i != SYNCP_NONE; i = t->section[i].outer) {
        const struct syncp_section *s = &t->section[i];
        if (s->released <= ideal[thread] || s->released <= reach || s->released == SYNCP_NONE)
            continue; // closed by then, or still open and so not overtaken
        if (rb_syncp_overtaken(p, s, thread, ideal))
            reach = s->released;
    }
    return reach;
}

bool rb_syncp_complete(const struct syncp *p, uint32_t *ideal, uint32_t thread, uint32_t time)
{
    bool changed = true;

    while (changed && ideal[thread] < time) {
        changed = false;
        for (uint32_t t = 0; t < p->world.threads; t++) {
            const uint32_t reach = ideal[t] > 0 ? must_reach(p, ideal, t) : 0;
            if (reach == 0)
                continue;
            rb_syncp_reach(p, ideal, t, reach);
            changed = true;
        }
    }
    return ideal[thread] >= time;
}
