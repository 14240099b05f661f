/*
 * rests MILLISECONDS: for so much CPU time each, two threads that do little but lock, so following
 * synchronisation costs more than any budget and is done in episodes. They walk over the same cells, half the
 * way apart, so a watchpoint that is set in an episode is hit by the other thread some milliseconds later,
 * when all may rest. Nothing races.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CELLS 32768u
#define LOCKS 64u

static long cells[CELLS];
static pthread_mutex_t locks[LOCKS];
static double seconds;

__attribute__((noinline)) static void add(long *to, long value)
{
    *to += value;
}

static double used(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *walk(void *given)
{
    const double end = used() + seconds;

    for (unsigned at = *(const unsigned *)given; at % 1024 || used() < end; at++) {
        pthread_mutex_t *lock = &locks[at % LOCKS];
        pthread_mutex_lock(lock);
        add(&cells[at % CELLS], 1);
        pthread_mutex_unlock(lock);
    }
    return NULL;
}

int main(int count, char **words)
{
    static const unsigned from[2] = {0, CELLS / 2};
    pthread_t t[2];

    seconds = (count > 1 ? atof(words[1]) : 1000) * 1e-3;
    for (unsigned i = 0; i < LOCKS; i++)
        pthread_mutex_init(&locks[i], NULL);
    for (int i = 0; i < 2; i++)
        if (pthread_create(&t[i], NULL, walk, (void *)&from[i]))
            return 3;
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    puts("done");
    return 0;
}
