// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Synchronisation by whole vector clocks, as in DJIT+, FastTrack and ST: every acquire joins T entries,
// every release copies T entries. The engine's table says when the local epoch grows.
#ifndef RB_ENGINE_VECTOR_SYNC_H
#define RB_ENGINE_VECTOR_SYNC_H

#include "engine/engine.h"

int rb_vector_thread_start(struct rb_engine *, struct rb_thread *);
void rb_vector_thread_stop(struct rb_engine *, struct rb_thread *);
bool rb_vector_acquire(struct rb_engine *, struct rb_thread *, struct rb_sync *);
bool rb_vector_release(struct rb_engine *, struct rb_thread *, struct rb_sync *);
bool rb_vector_release_join(struct rb_engine *, struct rb_thread *, struct rb_sync *);
void rb_vector_sync_clear(struct rb_engine *, struct rb_sync *);

#endif
