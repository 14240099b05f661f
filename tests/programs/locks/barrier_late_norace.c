/*
 * A waiter that leaves the first round late, when the other has arrived at the second, is ordered after all
 * that came before the first.
 */
#define _GNU_SOURCE
#include "../order.h"
#include <sched.h>

int data;
pthread_barrier_t barrier;

static void first(void)
{
    rb_await(1);
    usleep(20000); /* the other is in its wait by now */
    data = 1;
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
}

static void second(void)
{
    struct sched_param none = {0};

    sched_setscheduler(0, SCHED_IDLE, &none);
    rb_reach(1);
    pthread_barrier_wait(&barrier);
    data = 2;
    pthread_barrier_wait(&barrier);
}

int main(void)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof(one), &one);
    pthread_barrier_init(&barrier, NULL, 2);
    return rb_both(first, second);
}
