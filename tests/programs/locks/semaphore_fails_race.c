/* sem_trywait and sem_timedwait that find nothing make no edge. */
#include "../order.h"
#include <errno.h>
#include <semaphore.h>
#include <time.h>

RB_APART int tried, timed;
sem_t semaphore, other;

static void first(void)
{
    tried = 1; /* RACE 1 */
    timed = 1; /* RACE 3 */
    sem_post(&other);
    rb_reach(1);
}

static void second(void)
{
    struct timespec until;

    rb_await(1);
    clock_gettime(CLOCK_REALTIME, &until);
    RB_CHECK(sem_trywait(&semaphore) == -1 && errno == EAGAIN);
    tried = 2; /* RACE 2 */
    RB_CHECK(sem_timedwait(&semaphore, &until) == -1 && errno == ETIMEDOUT);
    timed = 2; /* RACE 4 */
}

int main(void)
{
    sem_init(&semaphore, 0, 0);
    sem_init(&other, 0, 0);
    return rb_both(first, second);
}
