/* sem_clockwait; written before sem_post. */
#define _GNU_SOURCE
#include "../order.h"
#include <semaphore.h>
#include <time.h>

int data;
sem_t semaphore;

static void first(void)
{
    data = 1;
    sem_post(&semaphore);
    rb_reach(1);
}

static void second(void)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 5;
    RB_CHECK(sem_clockwait(&semaphore, CLOCK_MONOTONIC, &until) == 0);
    rb_await(1);
    data = 2;
}

int main(void)
{
    sem_init(&semaphore, 0, 0);
    return rb_both(first, second);
}
