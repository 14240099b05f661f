/* pthread_mutex_clocklock that runs out of time makes no edge. */
#define _GNU_SOURCE
#include "../order.h"
#include <errno.h>
#include <time.h>

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void first(void)
{
    pthread_mutex_lock(&mutex);
    data = 1; /* RACE 1 */
    rb_reach(1);
    rb_await(2);
    pthread_mutex_unlock(&mutex);
}

static void second(void)
{
    struct timespec until;

    rb_await(1);
    clock_gettime(CLOCK_MONOTONIC, &until);
    RB_CHECK(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &until) == ETIMEDOUT);
    data = 2; /* RACE 2 */
    rb_reach(2);
}

int main(void)
{
    return rb_both(first, second);
}
