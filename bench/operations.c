// operations: what single operations cost, in nanoseconds of CPU time, best of several goes; one thread does
// them while another is alive. For bench/operations.py.
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TIMES = 200000, GOES = 15 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static sem_t semaphore;
static pthread_barrier_t end;
static atomic_long word;
static char text[64];

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void *wait_for_end(void *unused)
{
    pthread_barrier_wait(&end);
    return unused;
}

#define OPERATION(name, ...)                           \
    do {                                               \
        double best = 1e9;                             \
        for (int go = 0; go < GOES; go++) {            \
            const double begin = now();                \
            for (int i = 0; i < TIMES; i++) {          \
                __VA_ARGS__;                           \
            }                                          \
            const double ns = (now() - begin) / TIMES; \
            best = ns < best ? ns : best;              \
        }                                              \
        printf("%s\t%.2f\n", name, best);              \
    } while (0)

int main(void)
{
    void *volatile block;
    volatile size_t size = 16;
    pthread_t other;

    pthread_spin_init(&spin, 0);
    sem_init(&semaphore, 0, 0);
    pthread_barrier_init(&end, NULL, 2);
    pthread_create(&other, NULL, wait_for_end, NULL);
    OPERATION("mutex, lock and unlock", pthread_mutex_lock(&mutex); pthread_mutex_unlock(&mutex));
    OPERATION("read-write lock, to read", pthread_rwlock_rdlock(&rwlock); pthread_rwlock_unlock(&rwlock));
    OPERATION("read-write lock, to write", pthread_rwlock_wrlock(&rwlock); pthread_rwlock_unlock(&rwlock));
    OPERATION("spin lock", pthread_spin_lock(&spin); pthread_spin_unlock(&spin));
    OPERATION("semaphore, post and wait", sem_post(&semaphore); sem_wait(&semaphore));
    OPERATION("fetch_add, seq_cst", atomic_fetch_add(&word, 1));
    OPERATION("fetch_add, relaxed", atomic_fetch_add_explicit(&word, 1, memory_order_relaxed));
    OPERATION("load and compare_exchange", long seen = atomic_load(&word);
              atomic_compare_exchange_strong(&word, &seen, seen + 1));
    OPERATION("load, acquire", (void)atomic_load_explicit(&word, memory_order_acquire));
    OPERATION("store, release", atomic_store_explicit(&word, i, memory_order_release));
    OPERATION("store, seq_cst", atomic_store(&word, i));
    OPERATION("malloc and free of 64", block = malloc(64); free(block));
    OPERATION("memcpy of 16", memcpy(text, text + 32, size));
    pthread_barrier_wait(&end);
    pthread_join(other, NULL);
    return 0;
}
