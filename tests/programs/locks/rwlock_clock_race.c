/* pthread_rwlock_clockrdlock and clockwrlock that run out of time make no edge. */
#define _GNU_SOURCE
#include "../order.h"
#include <errno.h>
#include <time.h>

RB_APART int shared, alone;
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void first(void)
{
    pthread_rwlock_wrlock(&lock);
    shared = 1; /* RACE 1 */
    alone = 1;  /* RACE 3 */
    rb_reach(1);
    rb_await(2);
    pthread_rwlock_unlock(&lock);
}

static void second(void)
{
    struct timespec until;

    rb_await(1);
    clock_gettime(CLOCK_MONOTONIC, &until);
    RB_CHECK(pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &until) == ETIMEDOUT);
    rb_use(shared); /* RACE 2 */
    RB_CHECK(pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &until) == ETIMEDOUT);
    alone = 2; /* RACE 4 */
    rb_reach(2);
}

int main(void)
{
    return rb_both(first, second);
}
