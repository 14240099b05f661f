// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libuv1-dev
// Flags: -luv
// libuv: work in the pool with its completion in the loop, wake-ups of a loop by another thread, locks, barriers and
// semaphores, and one-time initialization.
#include "planted.h"
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

enum { COUNT = 300 };
struct job {
    uv_work_t request;
    long in, out;
};

static long sum, woken, guarded, ringed;
static uv_mutex_t mutex;
static uv_rwlock_t rwlock;
static uv_cond_t cond;
static uv_sem_t empty, full;
static uv_barrier_t barrier;
static uv_once_t once = UV_ONCE_INIT;
static uv_async_t async;
static int turn, once_value, ring[4], table[2];

static void use(int thread)
{
    uv_mutex_t own;
    (void)thread;
    uv_mutex_init(&own);
    uv_mutex_lock(&own);
    uv_mutex_unlock(&own);
    uv_mutex_destroy(&own);
}

static void work(uv_work_t *request)
{
    struct job *job = request->data;
    job->out = job->in * 2;
}

static void finish(uv_work_t *request, int status)
{
    struct job *job = request->data;
    sum += job->out + status;
    free(job);
}

static void set_once(void)
{
    once_value = 3;
}

static void lock_all(void *argument)
{
    int me = (int)(long)argument;
    uv_once(&once, set_once);
    table[me] = once_value;
    uv_barrier_wait(&barrier);
    int other = table[!me];
    uv_barrier_wait(&barrier);
    for (int i = 0; i < COUNT; i++) {
        uv_mutex_lock(&mutex);
        while (turn != me)
            uv_cond_wait(&cond, &mutex);
        guarded += other;
        turn = !turn;
        uv_cond_broadcast(&cond);
        uv_mutex_unlock(&mutex);
        uv_rwlock_wrlock(&rwlock);
        table[me] += table[!me] > 0;
        uv_rwlock_wrunlock(&rwlock);
        if (me) {
            uv_sem_wait(&empty);
            ring[i % 4] = i;
            uv_sem_post(&full);
        } else {
            uv_sem_wait(&full);
            ringed += ring[i % 4];
            uv_sem_post(&empty);
        }
    }
}

// The data of the handle is read by the loop after uv_async_send.
static void wake(void *unused)
{
    (void)unused;
    long *block = malloc(sizeof *block);
    *block = 17;
    async.data = block;
    uv_async_send(&async);
}

static void on_wake(uv_async_t *handle)
{
    long *block = handle->data;
    woken += *block;
    free(block);
    uv_close((uv_handle_t *)handle, NULL);
}

int main(int argc, char **argv)
{
    uv_thread_t lockers[2], waker;
    planted_start(argc, argv, use);
    uv_mutex_init(&mutex);
    uv_rwlock_init(&rwlock);
    uv_cond_init(&cond);
    uv_sem_init(&empty, 4);
    uv_sem_init(&full, 0);
    uv_barrier_init(&barrier, 2);
    uv_async_init(uv_default_loop(), &async, on_wake);
    for (int i = 0; i < 2; i++)
        uv_thread_create(&lockers[i], lock_all, (void *)(long)i);
    uv_thread_create(&waker, wake, NULL);
    for (int i = 0; i < COUNT; i++) {
        struct job *job = malloc(sizeof *job);
        job->in = i;
        job->request.data = job;
        uv_queue_work(uv_default_loop(), &job->request, work, finish);
    }
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    for (int i = 0; i < 2; i++)
        uv_thread_join(&lockers[i]);
    uv_thread_join(&waker);
    planted_end();
    printf("%ld %ld %ld %ld\n", sum, woken, guarded, ringed);
    return 0;
}
