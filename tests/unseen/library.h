/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The library that tests/cli/test_unseen.sh builds without hooks: it orders threads by atomics of its own. */
#ifndef QUIET_LIBRARY_H
#define QUIET_LIBRARY_H

#ifdef __cplusplus
extern "C" {
#endif
/* A spin lock: a locked exchange takes it, a plain store gives it back. */
void quiet_lock(int *lock);
void quiet_unlock(int *lock);

/* A queue of one producer and one consumer, by plain loads and stores. */
struct quiet_queue;
struct quiet_queue *quiet_queue_new(void);
int quiet_push(struct quiet_queue *q, void *item); /* 0: it is full */
void *quiet_pop(struct quiet_queue *q);            /* NULL: it is empty */

/* Threads of the library's own that run jobs, handed over under its spin lock. */
void quiet_pool_start(int threads);
void quiet_pool_add(void (*job)(void *argument), void *argument);
void quiet_pool_wait(void); /* until all jobs are done */
void quiet_pool_stop(void);

/* Arguments in all registers that may pass some, and on the stack. */
double quiet_sum(long a, long b, long c, long d, long e, long f, double g, double h, double i, double j,
                 double k, double l, double m, double n, long o, double p);
int quiet_print(char *to, const char *format, ...);
#ifdef __cplusplus
}

/* The same lock, called by its table of virtual functions alone. */
struct quiet_guard {
    virtual ~quiet_guard();
    virtual void lock() = 0;
    virtual void unlock() = 0;
};
extern "C" quiet_guard *quiet_guard_new();
#endif
#endif
