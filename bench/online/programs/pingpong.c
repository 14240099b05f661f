// Locks that go from hand to hand: every thread takes one of four mutexes, changes two words, gives it back,
// and goes to the next; nothing else. What synchronisation alone costs. pingpong THREADS ROUNDS
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { LOCKS = 4, MOST = 256 };
static struct {
    pthread_mutex_t lock;
    long taken, last;
} __attribute__((aligned(64))) places[LOCKS];
static long rounds;

static void *work(void *number)
{
    for (long i = 0; i < rounds; i++) {
        const long k = (i + (long)number) % LOCKS;
        pthread_mutex_lock(&places[k].lock);
        places[k].taken++;
        places[k].last = (long)number;
        pthread_mutex_unlock(&places[k].lock);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t t[MOST];
    const long threads = argc > 1 ? atol(argv[1]) : 8;
    long sum = 0;

    rounds = (argc > 2 ? atol(argv[2]) : 100000000) / threads;
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_init(&places[i].lock, NULL);
    for (long i = 0; i < threads && i < MOST; i++)
        pthread_create(&t[i], NULL, work, (void *)i);
    for (long i = 0; i < threads && i < MOST; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < LOCKS; i++)
        sum += places[i].taken;
    printf("%ld\n", sum);
    return 0;
}
