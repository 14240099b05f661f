// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The orders of the predictive engines by their definitions (docs/explanation/engines.md): matrices over the events of a
// trace, made of rules that are applied until nothing changes. Slow, without clocks, queues or state of
// locks, so that they cannot be wrong together with an engine. The result is an `oracle`: its questions mean
// the same, with another order.
//
// What the two share, edges from event i to a later event j:
//   thread order, fork, join   as engine/oracle.h has them
//   locks                      a release to an acquire, unless both are of read-locks
//   other objects              if one of the two releases (R5 of docs/explanation/reordering.md)
//   hard objects               always: those with lock events and others, and locks that are misused
#ifndef RB_TESTS_ENGINE_ORACLE_PREDICT_H
#define RB_TESTS_ENGINE_ORACLE_PREDICT_H

#include "engine/oracle.h"

// Instead of oracle_build, each; freed with oracle_free.
// These edges, and one to each read from the last write before it. The row of a read has what is ordered
// before it without that edge.
void oracle_build_shb(struct oracle *o, const struct rb_event *events, uint32_t count);
// WCP: rules (a) and (b) for sections of different threads that exclude each other, closed under composition
// with all edges above on both sides; and program order, which is all of them but those of locks. In (b)
// either counts.
void oracle_build_wcp(struct oracle *o, const struct rb_event *events, uint32_t count);

// Does every lock of the trace keep the discipline, and is no object of two kinds?
bool oracle_disciplined(const struct rb_event *events, uint32_t count);

#endif
