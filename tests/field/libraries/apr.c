// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libapr1-dev libaprutil1-dev
// Flags: $(pkg-config --cflags --libs apr-1 apr-util-1)
// APR: locks of all kinds, a queue, one-time calls, and atomic operations that publish and count blocks. Not its
// pool of threads, which loses tasks in the plain build.
#include "planted.h"
#include <apr_atomic.h>
#include <apr_general.h>
#include <apr_queue.h>
#include <apr_thread_cond.h>
#include <apr_thread_mutex.h>
#include <apr_thread_proc.h>
#include <apr_thread_rwlock.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 300 };
static apr_pool_t *pool;
static apr_thread_mutex_t *mutex, *nested;
static apr_thread_rwlock_t *rwlock;
static apr_thread_cond_t *cond;
static apr_queue_t *queue;
static apr_thread_once_t *once;
static volatile apr_uint32_t references = 2, spin;
static volatile void *published;
static long guarded, under_nested, under_rwlock, under_spin, once_value, sum;
static int turn, *counted_block;

static void use(int thread)
{
    volatile apr_uint32_t own = thread;
    apr_atomic_inc32(&own);
    apr_atomic_cas32(&own, 0, 1);
}

static void set_once(void)
{
    once_value = 2;
}

static void *APR_THREAD_FUNC lock_all(apr_thread_t *thread, void *argument)
{
    int me = (int)(long)argument;
    apr_thread_once(once, set_once);
    for (int i = 0; i < COUNT; i++) {
        apr_thread_mutex_lock(mutex);
        while (turn != me)
            apr_thread_cond_wait(cond, mutex);
        guarded += once_value;
        turn = !turn;
        apr_thread_cond_broadcast(cond);
        apr_thread_mutex_unlock(mutex);
        apr_thread_mutex_lock(nested);
        under_nested++;
        apr_thread_mutex_unlock(nested);
        apr_thread_rwlock_wrlock(rwlock);
        under_rwlock++;
        apr_thread_rwlock_unlock(rwlock);
        while (apr_atomic_cas32(&spin, 1, 0))
            apr_thread_yield();
        under_spin++;
        apr_atomic_xchg32(&spin, 0);
    }
    if (me)
        *counted_block = 7;
    if (!apr_atomic_dec32(&references)) {
        apr_thread_mutex_lock(nested);
        under_nested += *counted_block;
        apr_thread_mutex_unlock(nested);
        free(counted_block);
    }
    (void)thread;
    return NULL;
}

static void *APR_THREAD_FUNC send_blocks(apr_thread_t *thread, void *unused)
{
    for (int i = 0; i < COUNT; i++) {
        long *block = malloc(sizeof *block);
        *block = i;
        apr_queue_push(queue, block);
        if (i % 10 == 0) {
            block = malloc(sizeof *block);
            *block = i;
            while (apr_atomic_casptr(&published, block, NULL))
                apr_thread_yield();
        }
    }
    (void)thread;
    return unused;
}

int main(int argc, char **argv)
{
    apr_thread_t *threads[3];
    apr_status_t status;
    void *item;
    apr_initialize();
    apr_pool_create(&pool, NULL);
    apr_thread_mutex_create(&mutex, APR_THREAD_MUTEX_DEFAULT, pool);
    apr_thread_mutex_create(&nested, APR_THREAD_MUTEX_NESTED, pool);
    apr_thread_rwlock_create(&rwlock, pool);
    apr_thread_cond_create(&cond, pool);
    apr_queue_create(&queue, 16, pool);
    apr_thread_once_init(&once, pool);
    counted_block = calloc(1, sizeof *counted_block);
    planted_start(argc, argv, use);
    for (long i = 0; i < 2; i++)
        apr_thread_create(&threads[i], NULL, lock_all, (void *)i, pool);
    apr_thread_create(&threads[2], NULL, send_blocks, NULL, pool);
    for (int i = 0; i < COUNT; i++) {
        apr_queue_pop(queue, &item);
        sum += *(long *)item;
        free(item);
        if (i % 10 == 0) {
            while (!(item = apr_atomic_xchgptr(&published, NULL)))
                apr_thread_yield();
            sum += *(long *)item;
            free(item);
        }
    }
    for (int i = 0; i < 3; i++)
        apr_thread_join(&status, threads[i]);
    planted_end();
    printf("%ld %ld %ld %ld %ld\n", guarded, under_nested, under_rwlock, under_spin, sum);
    apr_pool_destroy(pool);
    apr_terminate();
    return 0;
}
