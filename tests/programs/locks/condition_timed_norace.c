/* pthread_cond_timedwait that runs out of time has the mutex again. */
#include "../order.h"
#include <errno.h>
#include <time.h>

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void first(void)
{
    pthread_mutex_lock(&mutex);
    rb_reach(1);
    rb_await(2);
    data = 1;
    pthread_mutex_unlock(&mutex);
    rb_reach(3);
}

static void second(void)
{
    struct timespec until;

    rb_await(1);
    rb_reach(2);
    pthread_mutex_lock(&mutex);
    rb_await(3);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec = (until.tv_nsec + 1000000) % 1000000000;
    RB_CHECK(pthread_cond_timedwait(&condition, &mutex, &until) == ETIMEDOUT);
    data = 2;
    pthread_mutex_unlock(&mutex);
}

int main(void)
{
    return rb_both(first, second);
}
