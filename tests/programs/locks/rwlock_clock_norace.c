/* pthread_rwlock_clockrdlock and clockwrlock that succeed order. */
#define _GNU_SOURCE
#include "../order.h"
#include <errno.h>
#include <time.h>

RB_APART int shared, alone;
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void first(void)
{
    pthread_rwlock_wrlock(&lock);
    shared = 1;
    alone = 1;
    pthread_rwlock_unlock(&lock);
    rb_reach(1);
}

static void second(void)
{
    struct timespec until;

    rb_await(1);
    clock_gettime(CLOCK_MONOTONIC, &until);
    RB_CHECK(pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &until) == 0);
    rb_use(shared);
    pthread_rwlock_unlock(&lock);
    RB_CHECK(pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &until) == 0);
    alone = 2;
    pthread_rwlock_unlock(&lock);
}

int main(void)
{
    return rb_both(first, second);
}
