// For the programs of this folder: two threads that run a step again and again for some time (seconds, the
// first argument), and what two builds of a program differ in. -DRACE=1: the race is there; -DRACE=0: its
// twin is ordered. Between two steps a thread does something else, so that accesses meet now and then and not
// always.
#ifndef TWO_H
#define TWO_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifndef RACE
#error "build with -DRACE=0 or -DRACE=1"
#endif

static int two_stop; // only by the atomics below

static inline int two_goes_on(void)
{
    return !__atomic_load_n(&two_stop, __ATOMIC_RELAXED);
}

static inline void two_pause(unsigned turns)
{
    for (unsigned i = 0; i < turns; i++)
        __asm__ volatile("pause");
}

struct two_thread {
    pthread_t handle;
    int number;
};

static double two_seconds(int argc, char **argv)
{
    return argc > 1 ? atof(argv[1]) : 1.0;
}

// Runs `run` in two threads, which get their struct two_thread, and ends them after a time.
static inline int two_run(int argc, char **argv, void *(*run)(void *))
{
    const double seconds = two_seconds(argc, argv);
    const struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    static struct two_thread thread[2];

    for (int i = 0; i < 2; i++) {
        thread[i].number = i;
        pthread_create(&thread[i].handle, NULL, run, &thread[i]);
    }
    nanosleep(&time, NULL);
    __atomic_store_n(&two_stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i].handle, NULL);
    puts("done");
    return 0;
}

#endif
