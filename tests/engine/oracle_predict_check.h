// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the tests of the predictive engines share: traces judged by eye, and an engine held against the order
// it shall compute, on random traces under every kind of sampler.
#ifndef RB_TESTS_ENGINE_ORACLE_PREDICT_CHECK_H
#define RB_TESTS_ENGINE_ORACLE_PREDICT_CHECK_H

#include "engine/hand_trace.h"
#include "engine/oracle_check.h"
#include "engine/oracle_predict.h"
#include "lab/predict/predict.h"

typedef void (*order_fn)(struct oracle *, const struct rb_event *, uint32_t count);

// Makers of traces: of all kinds of events, and of critical sections (of mutexes and read-write locks,
// nested, some accesses outside) that keep the discipline. Tiny: small enough for all reorderings; longer:
// clocks, queues and tables grow.
typedef void (*maker_fn)(struct random_trace *, uint64_t seed);
void predict_tiny_any(struct random_trace *, uint64_t seed);
void predict_longer_any(struct random_trace *, uint64_t seed);
void predict_tiny_sections(struct random_trace *, uint64_t seed);
void predict_longer_sections(struct random_trace *, uint64_t seed);

// Both fail the test, with the trace on stderr, unless the engine warns of exactly the events that the order
// leaves racy, names a racy pair each time, and counts as it should.
void predict_by_hand(const struct hand_case *cases, size_t count, const struct rb_engine_ops *engine,
                     order_fn order);
void predict_random(uint32_t traces, maker_fn make, const struct rb_engine_ops *engine, order_fn order);

// Feeds traces to an engine that has little memory, from nothing to enough: it runs out of it, says so, and
// does nothing worse.
void predict_starving(const struct rb_predictor_ops *ops);

#endif
