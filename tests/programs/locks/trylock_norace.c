/* pthread_mutex_trylock and timedlock that succeed are like lock. */
#define _GNU_SOURCE
#include "../order.h"
#include <errno.h>
#include <time.h>

RB_APART int tried, timed;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void first(void)
{
    pthread_mutex_lock(&mutex);
    tried = 1;
    timed = 1;
    pthread_mutex_unlock(&mutex);
    rb_reach(1);
}

static void second(void)
{
    struct timespec until;

    rb_await(1);
    clock_gettime(CLOCK_REALTIME, &until);
    RB_CHECK(pthread_mutex_trylock(&mutex) == 0);
    tried = 2;
    pthread_mutex_unlock(&mutex);
    RB_CHECK(pthread_mutex_timedlock(&mutex, &until) == 0);
    timed = 2;
    pthread_mutex_unlock(&mutex);
}

int main(void)
{
    return rb_both(first, second);
}
