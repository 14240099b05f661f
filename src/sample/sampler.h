// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The contract of the samplers, which decide the accesses in S. Each policy is a pure function of its seed
// and of the events that it receives. It does not depend on the engine, so that every engine sees the same
// S.
//
// A policy answers in one of three ways, the cheapest for it:
//   gap     the number of accesses to skip before the next one taken (random, all, none, pacer);
//   region  on or off for a thread until its next function event (LiteRace's family);
//   ask     a call for each access (LiteRace's family on traces without functions, static).
#ifndef RB_SAMPLE_SAMPLER_H
#define RB_SAMPLE_SAMPLER_H

#include "base/arena.h"
#include "base/error.h"
#include "base/gaps.h"
#include "base/rng.h"
#include "base/types.h"

// TAKE: in S, checked and recorded. CHECK: compared with recorded accesses, not recorded itself (PACER
// outside its periods). PASS: ignored.
enum rb_take { RB_PASS, RB_CHECK, RB_TAKE };

struct rb_sampler_spec {
    const struct rb_sampler_ops *ops;
    double p, delta; // P, or EPS and DELTA
    uint64_t length; // pacer: accesses in a period; crsampler, datacollider: the limit, in milliseconds
    char text[48];   // as the user wrote it
};

// The facts about the execution that a policy may use.
struct rb_sampler_world {
    uint32_t threads;
    uint64_t functions; // 0: the trace has none
    uint64_t locations;
};

struct rb_sampler {
    const struct rb_sampler_ops *ops;
    struct rb_sampler_spec spec;
    struct rb_sampler_world world;
    struct rb_rng rng;
    bool by_location; // needs functions, but the trace has only locations
    struct rb_arena arena;
    // state of the current policy
    struct rb_gaps *gaps;       // random; pacer: between sampling periods
    uint64_t period_left;       // pacer: remaining accesses of the current sampling period
    struct rb_regions *regions; // LiteRace's family
    uint64_t *chosen;           // static: a bit a location
};

struct rb_sampler_ops {
    const char *name;
    const char *parameters; // "", ":P", ":EPS,DELTA", ":P[,LENGTH]", ...
    const char *help;
    bool takes_all;       // the gap is always 0
    bool wants_functions; // decides by enter and exit
    bool windows;         // RPT, driven by the replay
    const char *online;   // NULL unless for running programs only: the reason, and an alternative for traces
    const struct rb_call_policy *calls; // LiteRace's family (sample/calls.h)
    int (*start)(struct rb_sampler *s); // returns a negative errno when memory is out; may be NULL
    // Gap policies: returns the number of accesses to skip before the next TAKE. `between` is the decision
    // about the skipped ones, PASS or CHECK.
    uint64_t (*gap)(struct rb_sampler *s);
    enum rb_take between;
    // the other policies
    enum rb_take (*ask)(struct rb_sampler *s, uint32_t thread, uint32_t location);
    void (*enter)(struct rb_sampler *s, uint32_t thread, uint64_t function);
    void (*exit)(struct rb_sampler *s, uint32_t thread);
};

#define RB_SAMPLER(id) extern const struct rb_sampler_ops rb_sample_##id;
#include "sample/samplers.def"
#undef RB_SAMPLER
extern const struct rb_sampler_ops *const rb_samplers[]; // those of running programs last; NULL at the end

// Parses "name:parameters". An error lists the known samplers.
int rb_sampler_parse(const char *text, struct rb_sampler_spec *spec, struct rb_error *e);
// Parses the same for a trace, and rejects samplers of running programs only.
int rb_sampler_parse_offline(const char *text, struct rb_sampler_spec *spec, struct rb_error *e);
int rb_sampler_start(struct rb_sampler *s, const struct rb_sampler_spec *spec,
                     const struct rb_sampler_world *world, uint64_t seed);
void rb_sampler_stop(struct rb_sampler *s);

#endif
