// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads of the program: their states, slots, handles, and notes for reports.
//
// A state is made by the creator (pthread_create), or at the first step into the runtime of a thread that
// was there before it or came by clone. It ends with the thread's last key destructor, and is given
// up when the thread is joined, or at once when it is detached.
//
// Slots index clocks, so they are reused; a slot's epochs and versions go on where its last user stopped.
// An access of an earlier user then counts as the new user's own: a race may be hidden, none invented. To
// hide few, a slot stays unused until QUEUED others wait as well, oldest first.
#ifndef RB_RUN_SYNC_THREAD_H
#define RB_RUN_SYNC_THREAD_H

#include "run/core/rt.h"

// The facts about a thread that reports give, kept after its end: a ring by id.
struct rb_thread_note {
    uint32_t id;     // RB_NO_THREAD: unused
    uint32_t parent; // RB_NO_THREAD: unknown
    uint32_t os_id;
    rb_stack created;
    bool running;
    char name[16];
};

RB_HIDDEN int rb_threads_init(void);
RB_HIDDEN void rb_threads_reset_after_fork(void);

// Makes a state for a thread about to be created; NULL if there is no slot or memory.
RB_HIDDEN struct rb_self *rb_thread_new(struct rb_self *creator, rb_stack created);
// Frees the state: the thread was not created after all.
RB_HIDDEN void rb_thread_discard(struct rb_self *me, struct rb_self *child);
// Begins the child, on the child itself; and notes its handle, on the creator.
RB_HIDDEN void rb_thread_begin(struct rb_self *child);
RB_HIDDEN void rb_thread_created(struct rb_self *me, struct rb_self *child, pthread_t handle);
RB_HIDDEN void rb_thread_end(struct rb_self *me);
// Retires the calling thread, which may make no system call any more: it passes through from now on, and
// nothing is reported.
RB_HIDDEN void rb_thread_retire(void);
// Returns the thread to be joined, before the join, or NULL. After it: acquires the thread's release, or
// notes that the join failed.
RB_HIDDEN struct rb_self *rb_thread_joining(pthread_t handle);
RB_HIDDEN void rb_thread_joined(struct rb_self *me, struct rb_self *t, pthread_t handle);
RB_HIDDEN void rb_thread_not_joined(struct rb_self *t);
// Detaches the thread, before the program's call does.
RB_HIDDEN void rb_thread_detached(struct rb_self *me, pthread_t handle);

RB_HIDDEN void rb_thread_name(uint32_t id, const char *name);
RB_HIDDEN struct rb_self *rb_thread_by_handle(pthread_t handle); // alive; for pthread_setname_np
RB_HIDDEN bool rb_thread_note(uint32_t id, struct rb_thread_note *note);
// Finds the thread with the address on its stack or in its TLS. Returns false if there is none.
RB_HIDDEN bool rb_thread_of_stack(uintptr_t address, uint32_t *id, bool *tls);

// Makes a state for a context that the program schedules itself (fibers), on any thread.
RB_HIDDEN struct rb_self *rb_fiber_new(struct rb_self *creator);
RB_HIDDEN void rb_fiber_free(struct rb_self *me, struct rb_self *fiber);

// Waits until the calling thread is the only one, or `ms` have passed. Outside the guard.
RB_HIDDEN void rb_threads_await_others(uint64_t ms);

// Counters of all threads, ended ones included.
struct rb_totals {
    struct rb_rt_counters rt;
    struct rb_engine_counters engine;
    uint32_t threads, most_threads;
};
RB_HIDDEN void rb_threads_totals(struct rb_totals *t);

#endif
