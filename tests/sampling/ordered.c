/*
 * ordered SECONDS: for so much CPU time, eight threads do a little of everything that orders accesses,
 * thousands of times a millisecond, and every access is ordered. Whatever a sampler takes or passes over, and
 * wherever it begins or ends, nothing may be reported. Unlike tests/stress this is short and dense: most
 * events are synchronisation, so that samplers that switch it off and on meet an operation in flight at each
 * switch.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "cpu_time.h"

#define THREADS 8

static double end;
static atomic_int stop;

// What a lock, or whatever takes its place, protects.
typedef long block[8];

static void change(block b)
{
    for (int i = 0; i < 8; i++)
        b[i]++;
}

static void look(const block b)
{
    for (int i = 0; i < 8; i++)
        if (b[i] < 0)
            abort();
}

static void by_mutex(unsigned random)
{
    static pthread_mutex_t mutex[4] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                       PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
    static block b[4];
    const unsigned i = random % 4;

    if (random & 4)
        pthread_mutex_lock(&mutex[i]);
    else if (pthread_mutex_trylock(&mutex[i]))
        return;
    change(b[i]);
    pthread_mutex_unlock(&mutex[i]);
}

static void by_rwlock(unsigned random)
{
    static pthread_rwlock_t lock[2] = {PTHREAD_RWLOCK_INITIALIZER, PTHREAD_RWLOCK_INITIALIZER};
    static block b[2];
    const unsigned i = random % 2;

    if (random & 6) {
        pthread_rwlock_rdlock(&lock[i]);
        look(b[i]);
    } else {
        pthread_rwlock_wrlock(&lock[i]);
        change(b[i]);
    }
    pthread_rwlock_unlock(&lock[i]);
}

static void by_spinning(unsigned random)
{
    static atomic_int taken;
    static block b;

    (void)random;
    while (atomic_exchange_explicit(&taken, 1, memory_order_acquire))
        sched_yield();
    change(b);
    atomic_store_explicit(&taken, 0, memory_order_release);
}

static void by_ticket(unsigned random)
{
    static atomic_uint next, serving;
    static block b;
    const unsigned mine = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed);

    (void)random;
    while (atomic_load_explicit(&serving, memory_order_acquire) != mine)
        sched_yield();
    change(b);
    atomic_store_explicit(&serving, mine + 1, memory_order_release);
}

// A block goes from hand to hand through one pointer, and is now and then another.
static _Atomic(long *) box;

static void by_exchange(unsigned random)
{
    long *b = atomic_exchange_explicit(&box, NULL, memory_order_acq_rel), *nobody = NULL;

    if (!b)
        return;
    change(b);
    if (random % 16 == 0) {
        free(b);
        b = calloc(8, sizeof(*b));
    }
    while (
        !atomic_compare_exchange_weak_explicit(&box, &nobody, b, memory_order_release, memory_order_relaxed))
        nobody = NULL;
}

static void by_fence(unsigned random)
{
    static atomic_int taken;
    static block b;
    int no = 0;

    (void)random;
    if (!atomic_compare_exchange_strong_explicit(&taken, &no, 1, memory_order_relaxed, memory_order_relaxed))
        return;
    atomic_thread_fence(memory_order_acquire);
    change(b);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&taken, 0, memory_order_relaxed);
}

static sem_t full, empty;

static void by_semaphore(unsigned random)
{
    static block b;

    (void)random;
    if (sem_trywait(&full) == 0) {
        look(b);
        sem_post(&empty);
    } else if (sem_trywait(&empty) == 0) {
        change(b);
        sem_post(&full);
    }
}

static void *child(void *b)
{
    change(b);
    return NULL;
}

static void by_join(unsigned random)
{
    block b = {0};
    pthread_t thread;

    if (random % 64 || pthread_create(&thread, NULL, child, b))
        return;
    pthread_join(thread, NULL);
    change(b);
}

static void (*const ways[])(unsigned) = {by_mutex,    by_rwlock, by_spinning,  by_ticket,
                                         by_exchange, by_fence,  by_semaphore, by_join};
static pthread_barrier_t barrier;
static block at_barrier[THREADS];

static void *work(void *own)
{
    unsigned random = (unsigned)((block *)own - at_barrier) * 7919 + 1;

    for (long n = 1; !atomic_load_explicit(&stop, memory_order_relaxed); n++) {
        random = random * 1103515245 + 12345;
        ways[(random >> 16) % 8](random >> 19);
        change(own);
        if (n % 256)
            continue;
        const int last = pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
        for (int i = 0; i < THREADS; i++)
            look(at_barrier[i]);
        if (last && cpu_seconds() > end)
            atomic_store_explicit(&stop, 1, memory_order_relaxed);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(int count, char **words)
{
    pthread_t thread[THREADS];

    end = cpu_seconds() + (count > 1 ? atof(words[1]) : 1);
    sem_init(&full, 0, 0);
    sem_init(&empty, 0, 1);
    pthread_barrier_init(&barrier, NULL, THREADS);
    atomic_store(&box, calloc(8, sizeof(long)));
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, work, at_barrier[i]))
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    return 0;
}
