// Time that others cannot take away: the CPU time of the process.
#ifndef CPU_TIME_H
#define CPU_TIME_H

#include <time.h>

static inline double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// Returns once the process has used so much CPU time.
static inline void await_cpu_seconds(double seconds)
{
    const struct timespec moment = {0, 5000000};

    while (cpu_seconds() < seconds)
        nanosleep(&moment, NULL);
}

#endif
