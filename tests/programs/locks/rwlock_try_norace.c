/* tryrdlock, trywrlock, timedrdlock and timedwrlock that succeed order. */
#include "../order.h"
#include <errno.h>
#include <time.h>

RB_APART int try_read, try_write, timed_read, timed_write;
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void first(void)
{
    pthread_rwlock_wrlock(&lock);
    try_read = 1;
    try_write = 1;
    timed_read = 1;
    timed_write = 1;
    pthread_rwlock_unlock(&lock);
    rb_reach(1);
}

static void second(void)
{
    struct timespec until;

    rb_await(1);
    clock_gettime(CLOCK_REALTIME, &until);
    RB_CHECK(pthread_rwlock_tryrdlock(&lock) == 0);
    rb_use(try_read);
    pthread_rwlock_unlock(&lock);
    RB_CHECK(pthread_rwlock_trywrlock(&lock) == 0);
    try_write = 2;
    pthread_rwlock_unlock(&lock);
    RB_CHECK(pthread_rwlock_timedrdlock(&lock, &until) == 0);
    rb_use(timed_read);
    pthread_rwlock_unlock(&lock);
    RB_CHECK(pthread_rwlock_timedwrlock(&lock, &until) == 0);
    timed_write = 2;
    pthread_rwlock_unlock(&lock);
}

int main(void)
{
    return rb_both(first, second);
}
