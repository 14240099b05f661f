/* pthread_mutex_clocklock that succeeds is like lock. */
#define _GNU_SOURCE
#include "../order.h"
#include <errno.h>
#include <time.h>

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void first(void)
{
    pthread_mutex_lock(&mutex);
    data = 1;
    pthread_mutex_unlock(&mutex);
    rb_reach(1);
}

static void second(void)
{
    struct timespec until;

    rb_await(1);
    clock_gettime(CLOCK_MONOTONIC, &until);
    RB_CHECK(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &until) == 0);
    data = 2;
    pthread_mutex_unlock(&mutex);
}

int main(void)
{
    return rb_both(first, second);
}
