// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "library.h"

#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

// ---- lock and queue ------------------------------------------------------------------------------------

void quiet_lock(int *lock)
{
    while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
        sched_yield();
}

void quiet_unlock(int *lock)
{
    __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

enum { ROOM = 64 };
struct quiet_queue {
    void *item[ROOM];
    unsigned long head, tail;
};

quiet_queue *quiet_queue_new()
{
    return static_cast<quiet_queue *>(calloc(1, sizeof(quiet_queue)));
}

int quiet_push(quiet_queue *q, void *item)
{
    const unsigned long at = q->head;

    if (at - __atomic_load_n(&q->tail, __ATOMIC_ACQUIRE) == ROOM)
        return 0;
    q->item[at % ROOM] = item;
    __atomic_store_n(&q->head, at + 1, __ATOMIC_RELEASE);
    return 1;
}

void *quiet_pop(quiet_queue *q)
{
    const unsigned long at = q->tail;

    if (__atomic_load_n(&q->head, __ATOMIC_ACQUIRE) == at)
        return nullptr;
    void *item = q->item[at % ROOM];
    __atomic_store_n(&q->tail, at + 1, __ATOMIC_RELEASE);
    return item;
}

// ---- pool ----------------------------------------------------------------------------------------------

namespace
{
struct job {
    void (*function)(void *);
    void *argument;
    job *next;
};
job *jobs;
int jobs_lock, stopping;
long unfinished;
pthread_t thread[16];
int threads;

job *take_job()
{
    quiet_lock(&jobs_lock);
    job *taken = jobs;
    if (taken)
        jobs = taken->next;
    quiet_unlock(&jobs_lock);
    return taken;
}

void *work(void *)
{
    while (!__atomic_load_n(&stopping, __ATOMIC_ACQUIRE)) {
        job *j = take_job();
        if (!j) {
            sched_yield();
            continue;
        }
        j->function(j->argument);
        free(j);
        __atomic_sub_fetch(&unfinished, 1, __ATOMIC_ACQ_REL);
    }
    return nullptr;
}
} // namespace

void quiet_pool_start(int count)
{
    __atomic_store_n(&stopping, 0, __ATOMIC_RELEASE);
    for (threads = 0; threads < count; threads++)
        pthread_create(&thread[threads], nullptr, work, nullptr);
}

void quiet_pool_add(void (*function)(void *), void *argument)
{
    job *j = static_cast<job *>(malloc(sizeof(*j)));

    j->function = function;
    j->argument = argument;
    __atomic_add_fetch(&unfinished, 1, __ATOMIC_ACQ_REL);
    quiet_lock(&jobs_lock);
    j->next = jobs;
    jobs = j;
    quiet_unlock(&jobs_lock);
}

void quiet_pool_wait()
{
    while (__atomic_load_n(&unfinished, __ATOMIC_ACQUIRE))
        sched_yield();
}

void quiet_pool_stop()
{
    __atomic_store_n(&stopping, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], nullptr);
}

// ---- arguments -----------------------------------------------------------------------------------------

double quiet_sum(long a, long b, long c, long d, long e, long f, double g, double h, double i, double j,
                 double k, double l, double m, double n, long o, double p)
{
    return static_cast<double>(a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f) + 7 * g + 8 * h + 9 * i + 10 * j +
           11 * k + 12 * l + 13 * m + 14 * n + 15 * static_cast<double>(o) + 16 * p;
}

int quiet_print(char *to, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    const int n = vsnprintf(to, 100, format, list);
    va_end(list);
    return n;
}

// ---- virtual functions ---------------------------------------------------------------------------------

quiet_guard::~quiet_guard() = default;

struct spin_guard : quiet_guard {
    int word = 0;
    void lock() override
    {
        quiet_lock(&word);
    }
    void unlock() override
    {
        quiet_unlock(&word);
    }
};

quiet_guard *quiet_guard_new()
{
    return new spin_guard;
}
