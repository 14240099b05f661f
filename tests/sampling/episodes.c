// episodes SECONDS [race|locks]: for so much CPU time, four threads that do little but synchronise, in every
// way there is, each way with a word of its own that it protects. With `race` one more word that nothing
// does; with `locks` without read-modify-writes, which notice by themselves that following has begun. Says
// how many rounds it was.
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu_time.h"

enum { THREADS = 4 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore;
static atomic_uint ticket, serving;
static atomic_bool taken, swapped;
static atomic_uint fenced, baton;
static long by_mutex, by_rwlock, by_semaphore, by_ticket, by_exchange, by_compare, by_fence, by_baton,
    by_nothing;
static atomic_bool stop;
static bool races, locks;

static void with_ticket(void)
{
    const unsigned mine = atomic_fetch_add_explicit(&ticket, 1, memory_order_relaxed);

    while (atomic_load_explicit(&serving, memory_order_acquire) != mine)
        ;
    by_ticket++;
    atomic_store_explicit(&serving, mine + 1, memory_order_release);
}

static void with_exchange(void)
{
    while (atomic_exchange_explicit(&taken, true, memory_order_acquire))
        ;
    by_exchange++;
    atomic_store_explicit(&taken, false, memory_order_release);
}

static void with_compare(void)
{
    bool no = false;

    while (!atomic_compare_exchange_weak_explicit(&swapped, &no, true, memory_order_acq_rel,
                                                  memory_order_relaxed))
        no = false;
    by_compare++;
    atomic_store(&swapped, false);
}

// Whose turn it is, by relaxed operations with fences beside them.
static void with_fences(unsigned me)
{
    if (atomic_load_explicit(&fenced, memory_order_relaxed) % THREADS != me)
        return;
    atomic_thread_fence(memory_order_acquire);
    by_fence++;
    atomic_thread_fence(memory_order_release);
    atomic_fetch_add_explicit(&fenced, 1, memory_order_relaxed);
}

// Held for tens of thousands of rounds: where following begins or ends, somebody mostly has it.
static void with_baton(unsigned me)
{
    if (atomic_load_explicit(&baton, memory_order_acquire) % THREADS != me)
        return;
    if (++by_baton % 60000 == 0)
        atomic_store_explicit(&baton, me + 1, memory_order_release);
}

static void *work(void *number)
{
    const unsigned me = (unsigned)(size_t)number;
    long rounds = 0;

    for (; !atomic_load_explicit(&stop, memory_order_relaxed); rounds++) {
        pthread_mutex_lock(&mutex);
        by_mutex++;
        pthread_mutex_unlock(&mutex);
        if (rounds % 8 == me) {
            pthread_rwlock_wrlock(&rwlock);
            by_rwlock++;
        } else {
            pthread_rwlock_rdlock(&rwlock);
            if (by_rwlock < 0)
                abort();
        }
        pthread_rwlock_unlock(&rwlock);
        sem_wait(&semaphore);
        by_semaphore++;
        sem_post(&semaphore);
        with_baton(me);
        if (locks)
            continue;
        if (rounds % 16 == 0) // spinning for one's turn on fewer cores than threads takes long
            with_ticket();
        with_exchange();
        with_compare();
        with_fences(me);
        if (races)
            by_nothing++;
    }
    return (void *)rounds;
}

int main(int argc, char **argv)
{
    const double seconds = argc > 1 ? atof(argv[1]) : 1;
    pthread_t thread[THREADS];
    long rounds = 0;

    races = argc > 2 && !strcmp(argv[2], "race");
    locks = argc > 2 && !strcmp(argv[2], "locks");
    sem_init(&semaphore, 0, 1);
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, work, (void *)i);
    await_cpu_seconds(seconds);
    atomic_store(&stop, true);
    for (size_t i = 0; i < THREADS; i++) {
        void *did;
        pthread_join(thread[i], &did);
        rounds += (long)did;
    }
    if (by_mutex != rounds || by_semaphore != rounds || by_exchange != (locks ? 0 : rounds) ||
        by_compare != by_exchange)
        abort();
    printf("%ld rounds, %ld %ld %ld %ld %ld\n", rounds, by_rwlock, by_ticket, by_fence, by_baton, by_nothing);
    return 0;
}
