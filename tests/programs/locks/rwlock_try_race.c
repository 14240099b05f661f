/* tryrdlock, trywrlock, timedrdlock and timedwrlock that fail make no edge. */
#include "../order.h"
#include <errno.h>
#include <time.h>

RB_APART int try_read, try_write, timed_read, timed_write;
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void first(void)
{
    pthread_rwlock_wrlock(&lock);
    try_read = 1;    /* RACE 1 */
    try_write = 1;   /* RACE 3 */
    timed_read = 1;  /* RACE 5 */
    timed_write = 1; /* RACE 7 */
    rb_reach(1);
    rb_await(2);
    pthread_rwlock_unlock(&lock);
}

static void second(void)
{
    struct timespec until;

    rb_await(1);
    clock_gettime(CLOCK_REALTIME, &until);
    RB_CHECK(pthread_rwlock_tryrdlock(&lock) == EBUSY);
    rb_use(try_read); /* RACE 2 */
    RB_CHECK(pthread_rwlock_trywrlock(&lock) == EBUSY);
    try_write = 2; /* RACE 4 */
    RB_CHECK(pthread_rwlock_timedrdlock(&lock, &until) == ETIMEDOUT);
    rb_use(timed_read); /* RACE 6 */
    RB_CHECK(pthread_rwlock_timedwrlock(&lock, &until) == ETIMEDOUT);
    timed_write = 2; /* RACE 8 */
    rb_reach(2);
}

int main(void)
{
    return rb_both(first, second);
}
