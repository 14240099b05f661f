// What a lock or an atomic costs when its clock has nothing new, and when it has, beside THREADS others that have all used the
// same objects and are waiting. Marks (steps.c) stand around ROUNDS of each kind of operation, and around as many empty rounds.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MARK   0x5b1d0000
#define ROUNDS 16

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_there = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static atomic_long word;
static int there, threads;
long guarded, own;
static _Thread_local long own_sum;

static void use_all(void)
{
    pthread_mutex_lock(&mutex);
    guarded++;
    pthread_mutex_unlock(&mutex);
    pthread_rwlock_wrlock(&shared);
    guarded++;
    pthread_rwlock_unlock(&shared);
    pthread_rwlock_rdlock(&shared);
    own_sum += guarded;
    pthread_rwlock_unlock(&shared);
    atomic_fetch_add_explicit(&word, 1, memory_order_acq_rel);
}

static void *body(void *unused)
{
    use_all();
    pthread_mutex_lock(&gate);
    if (++there == threads)
        pthread_cond_signal(&all_there);
    pthread_mutex_unlock(&gate);
    for (;;)
        pause();
    return unused;
}

// Twice: the first time through is not what is to be counted.
#define COUNTED(kind, operation)                                                                           \
    for (int twice = 0; twice < 2; twice++) {                                                              \
        if (twice)                                                                                         \
            syscall(MARK + (kind));                                                                        \
        for (int i = 0; i < ROUNDS; i++) {                                                                 \
            operation;                                                                                     \
        }                                                                                                  \
        if (twice)                                                                                         \
            syscall(MARK + (kind));                                                                        \
    }

int main(int argc, char **argv)
{
    threads = argc > 1 ? atoi(argv[1]) : 0;
    for (int i = 0; i < threads; i++) {
        pthread_attr_t a;
        pthread_t t;
        pthread_attr_init(&a);
        pthread_attr_setstacksize(&a, 1 << 16);
        if (pthread_create(&t, &a, body, NULL)) {
            fprintf(stderr, "only %d threads\n", i);
            return 3;
        }
    }
    pthread_mutex_lock(&gate);
    while (there < threads)
        pthread_cond_wait(&all_there, &gate);
    pthread_mutex_unlock(&gate);
    use_all();
    COUNTED(0, __asm__ volatile("" : : : "memory"))
    COUNTED(1, pthread_mutex_lock(&mutex); pthread_mutex_unlock(&mutex))
    COUNTED(2, pthread_rwlock_wrlock(&shared); pthread_rwlock_unlock(&shared))
    COUNTED(3, pthread_rwlock_rdlock(&shared); pthread_rwlock_unlock(&shared))
    COUNTED(4, (void)atomic_load_explicit(&word, memory_order_acquire))
    COUNTED(5, atomic_store_explicit(&word, i, memory_order_release))
    COUNTED(6, atomic_fetch_add_explicit(&word, 1, memory_order_acq_rel))
    COUNTED(7, pthread_mutex_lock(&mutex); own++; pthread_mutex_unlock(&mutex))
    _exit(0);
}
