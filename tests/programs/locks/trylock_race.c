/* pthread_mutex_trylock, timedlock and clocklock that fail make no edge. */
#define _GNU_SOURCE
#include "../order.h"
#include <errno.h>
#include <time.h>

RB_APART int tried, timed;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void first(void)
{
    pthread_mutex_lock(&mutex);
    tried = 1; /* RACE 1 */
    timed = 1; /* RACE 3 */
    rb_reach(1);
    rb_await(2);
    pthread_mutex_unlock(&mutex);
}

static void second(void)
{
    struct timespec until;

    rb_await(1);
    clock_gettime(CLOCK_REALTIME, &until);
    RB_CHECK(pthread_mutex_trylock(&mutex) == EBUSY);
    tried = 2; /* RACE 2 */
    RB_CHECK(pthread_mutex_timedlock(&mutex, &until) == ETIMEDOUT);
    timed = 2; /* RACE 4 */
    rb_reach(2);
}

int main(void)
{
    return rb_both(first, second);
}
