// Runs two tasks in the first parallel region of a program. Exit status 1: on two threads, 0: on one, 2:
// there is one thread. A task lasts as long as the start of a thread may take, so that a thread in time finds
// one left.
#include <omp.h>
#include <time.h>

#define TASK_NS 50000

static int ran_on[2];

static void spend(long ns)
{
    struct timespec from, at;

    clock_gettime(CLOCK_MONOTONIC, &from);
    do
        clock_gettime(CLOCK_MONOTONIC, &at);
    while ((at.tv_sec - from.tv_sec) * 1000000000L + at.tv_nsec - from.tv_nsec < ns);
}

static void run_task(int which)
{
    ran_on[which] = omp_get_thread_num();
    spend(TASK_NS);
}

int main(void)
{
    int team = 0;

#pragma omp parallel num_threads(2)
#pragma omp single
    {
        team = omp_get_num_threads();
#pragma omp task
        run_task(0);
#pragma omp task
        run_task(1);
    }
    return team < 2 ? 2 : ran_on[0] != ran_on[1];
}
