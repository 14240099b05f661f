/* Written behind sem_post. */
#include "../order.h"
#include <semaphore.h>
#include <time.h>

RB_APART int waited, tried, timed;
sem_t semaphores[3];

static void first(void)
{
    sem_post(&semaphores[0]);
    waited = 1; /* RACE 1 */
    rb_reach(1);
    rb_await(2);
    sem_post(&semaphores[1]);
    tried = 1; /* RACE 3 */
    rb_reach(3);
    rb_await(4);
    sem_post(&semaphores[2]);
    timed = 1; /* RACE 5 */
    rb_reach(5);
}

static void second(void)
{
    struct timespec until;

    sem_wait(&semaphores[0]);
    rb_await(1);
    waited = 2; /* RACE 2 */
    rb_reach(2);
    rb_await(3);
    RB_CHECK(sem_trywait(&semaphores[1]) == 0);
    tried = 2; /* RACE 4 */
    rb_reach(4);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 5;
    RB_CHECK(sem_timedwait(&semaphores[2], &until) == 0);
    rb_await(5);
    timed = 2; /* RACE 6 */
}

int main(void)
{
    for (int i = 0; i < 3; i++)
        sem_init(&semaphores[i], 0, 0);
    rb_both(first, second);
    for (int i = 0; i < 3; i++)
        sem_destroy(&semaphores[i]);
    return 0;
}
