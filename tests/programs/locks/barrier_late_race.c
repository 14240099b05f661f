/*
 * Both threads write between the first and the second round. The waiter of the first round may leave its wait
 * after the other has arrived at the second: that arrival is no part of its round and orders nothing for it.
 * An idle priority on one processor makes the waiter as late as can be; the race is there in any case.
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
    pthread_barrier_wait(&barrier);
    data = 1; /* RACE 1 */
    pthread_barrier_wait(&barrier);
}

static void second(void)
{
    struct sched_param none = {0};

    sched_setscheduler(0, SCHED_IDLE, &none);
    rb_reach(1);
    pthread_barrier_wait(&barrier);
    data = 2; /* RACE 2 */
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
