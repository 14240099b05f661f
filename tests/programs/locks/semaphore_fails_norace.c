/* sem_trywait and sem_timedwait that find something do. */
#include "../order.h"
#include <errno.h>
#include <semaphore.h>
#include <time.h>

RB_APART int tried, timed;
sem_t semaphore, other;

static void first(void)
{
    tried = 1;
    timed = 1;
    sem_post(&semaphore);
    sem_post(&semaphore);
    rb_reach(1);
}

static void second(void)
{
    struct timespec until;

    rb_await(1);
    clock_gettime(CLOCK_REALTIME, &until);
    RB_CHECK(sem_trywait(&semaphore) == 0);
    tried = 2;
    RB_CHECK(sem_timedwait(&semaphore, &until) == 0);
    timed = 2;
}

int main(void)
{
    sem_init(&semaphore, 0, 0);
    sem_init(&other, 0, 0);
    return rb_both(first, second);
}
