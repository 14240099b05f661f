// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Slots ("places") that two threads use in turn: one fills them, the other uses them. All read-ahead is
// built on it. A place belongs to the filler while it is empty and to the user while it is full. This
// module decides only that, under a mutex; the contents belong to the caller. Tool side.
#ifndef RB_BASE_HANDOFF_H
#define RB_BASE_HANDOFF_H

#include <pthread.h>

#include "base/types.h"

#define RB_HANDOFF_PLACES 8u // at most

struct rb_handoff {
    bool full[RB_HANDOFF_PLACES];
    bool stop;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
};

void rb_handoff_init(struct rb_handoff *h);
void rb_handoff_destroy(struct rb_handoff *h);

// Waits, in the filler, until the place is empty (false: the user has stopped). rb_handoff_filled marks it
// full.
bool rb_handoff_await_empty(struct rb_handoff *h, uint32_t place);
void rb_handoff_filled(struct rb_handoff *h, uint32_t place);

// Waits, in the user, until the place is full. rb_handoff_used marks it empty; rb_handoff_stop ends the
// filler's wait for good.
void rb_handoff_await_full(struct rb_handoff *h, uint32_t place);
void rb_handoff_used(struct rb_handoff *h, uint32_t place);
void rb_handoff_stop(struct rb_handoff *h);

#endif
