// What `budget=` comes to: which share of the program's own time the adaptive sampler aims at, and what it is
// given to begin with (docs/sampling.md, "The budget").
#ifndef RB_RUN_SAMPLER_ADAPTIVE_BUDGET_H
#define RB_RUN_SAMPLER_ADAPTIVE_BUDGET_H

#include "run/core/upcalls.h"

#define RB_AIM           0.7      // of the budget: the rest is for runs that end in debt
#define RB_UNSEEN        0.015    // of the program's time is lost to what nobody counts
#define RB_LEAST_AIM     0.4      // of the budget, however small it is
#define RB_START_NS      4000000u // for each per cent: what may be spent before anything was earned; paid back
#define RB_MOST_START_NS 20000000u
#define RB_FIRST_NS      2500u // of it are kept back for each site that is known by then: for its first looks

// The share of the program's own time that may be spent on what is counted.
RB_INLINE double rb_budget_aim(void)
{
    const double budget = (double)rb_options.budget * 1e-6, most = budget * RB_AIM - RB_UNSEEN;

    return most > budget * RB_LEAST_AIM ? most : budget * RB_LEAST_AIM;
}

RB_INLINE double rb_budget_start_ns(void)
{
    const double ns = (double)rb_options.budget * 1e-4 * RB_START_NS;

    return ns < RB_MOST_START_NS ? ns : RB_MOST_START_NS;
}

// First looks are taken whatever there is, so in a large program half of the start, at most, is not given.
RB_INLINE double rb_budget_given_ns(uint32_t sites)
{
    const double ns = rb_budget_start_ns(), first = (double)sites * RB_FIRST_NS;

    return first < ns / 2 ? ns - first : ns / 2;
}

// Nanoseconds that an account may hold: a second's worth, and the start.
RB_INLINE double rb_budget_most_ns(void)
{
    return (double)rb_options.budget * RB_AIM * 1e3 + rb_budget_start_ns();
}

#endif
