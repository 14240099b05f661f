// Readers and a few writers on a read-write lock, with atomic counters beside: 16 threads. counts [ROUNDS]
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 16, WORDS = 64 };
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static long words[WORDS];
static atomic_long reads, writes;
static long rounds = 300000;

static void *work(void *number)
{
    long sum = 0;

    for (long i = 0; i < rounds; i++) {
        if ((i + (long)number) % 50 == 0) {
            pthread_rwlock_wrlock(&lock);
            words[i % WORDS]++;
            pthread_rwlock_unlock(&lock);
            atomic_fetch_add(&writes, 1);
        } else {
            pthread_rwlock_rdlock(&lock);
            for (int k = 0; k < 8; k++)
                sum += words[(i + k) % WORDS];
            pthread_rwlock_unlock(&lock);
            atomic_fetch_add_explicit(&reads, 1, memory_order_relaxed);
        }
    }
    return (void *)sum;
}

int main(int argc, char **argv)
{
    pthread_t t[THREADS];

    if (argc > 1)
        rounds = atol(argv[1]);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    printf("%ld\n", reads + writes);
    return 0;
}
