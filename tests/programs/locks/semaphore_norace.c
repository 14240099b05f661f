/* Written before sem_post: sem_wait, sem_trywait and sem_timedwait are ordered after it. */
#include "../order.h"
#include <semaphore.h>
#include <time.h>

RB_APART int waited, tried, timed;
sem_t semaphores[3];

static void first(void)
{
    waited = 1;
    sem_post(&semaphores[0]);
    rb_reach(1);
    rb_await(2);
    tried = 1;
    sem_post(&semaphores[1]);
    rb_reach(3);
    rb_await(4);
    timed = 1;
    sem_post(&semaphores[2]);
    rb_reach(5);
}

static void second(void)
{
    struct timespec until;

    sem_wait(&semaphores[0]);
    rb_await(1);
    waited = 2;
    rb_reach(2);
    rb_await(3);
    RB_CHECK(sem_trywait(&semaphores[1]) == 0);
    tried = 2;
    rb_reach(4);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 5;
    RB_CHECK(sem_timedwait(&semaphores[2], &until) == 0);
    rb_await(5);
    timed = 2;
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
