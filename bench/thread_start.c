// Measures how soon a new thread runs: the time from the return of pthread_create to the first statement of
// the thread. Prints a line "NAME<tab>NANOSECONDS" for each sample; bench/thread_start.py runs it in several
// builds.
//
//   first   the first thread of the process
//   later   threads one after the other
//   pool    threads that stay alive together, as a pool makes them
//   rate    the cost of creating and joining a thread, mean of many
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#define LATER 200
#define POOL  8
#define RATE  500

static volatile double began[POOL];
static pthread_barrier_t all_there;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void *note_time(void *at)
{
    *(volatile double *)at = now();
    return NULL;
}

static void *note_time_and_stay(void *at)
{
    note_time(at);
    pthread_barrier_wait(&all_there);
    return NULL;
}

static void *do_nothing(void *unused)
{
    return unused;
}

static double measure_one(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, note_time, (void *)&began[0]))
        return 0;
    const double returned = now();
    pthread_join(thread, NULL);
    return began[0] - returned;
}

static void measure_pool(void)
{
    pthread_t threads[POOL];
    double returned[POOL];

    pthread_barrier_init(&all_there, NULL, POOL + 1);
    for (int i = 0; i < POOL; i++) {
        if (pthread_create(&threads[i], NULL, note_time_and_stay, (void *)&began[i]))
            return;
        returned[i] = now();
    }
    pthread_barrier_wait(&all_there);
    for (int i = 0; i < POOL; i++) {
        pthread_join(threads[i], NULL);
        printf("pool\t%.0f\n", began[i] - returned[i]);
    }
}

int main(void)
{
    now(); // the first call looks for the kernel's page
    began[0] = 0;
    printf("first\t%.0f\n", measure_one());
    measure_pool();
    for (int i = 0; i < LATER; i++)
        printf("later\t%.0f\n", measure_one());
    const double start = now();
    for (int i = 0; i < RATE; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, do_nothing, NULL) || pthread_join(thread, NULL))
            return 1;
    }
    printf("rate\t%.0f\n", (now() - start) / RATE);
    return 0;
}
