/*
 * A timed wait is woken after another thread had the mutex, and is ordered after it; the clock makes no
 * difference.
 */
#define _GNU_SOURCE
#include "../order.h"
#include <time.h>

RB_APART int timed, clocked, ready;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void first(void)
{
    for (int turn = 1; turn <= 2; turn++) {
        rb_await(3 * turn - 2);
        pthread_mutex_lock(&mutex);
        *(turn == 1 ? &timed : &clocked) = 1;
        ready = turn;
        pthread_cond_signal(&condition);
        pthread_mutex_unlock(&mutex);
        rb_reach(3 * turn - 1);
    }
}

static void second(void)
{
    struct timespec until;

    pthread_mutex_lock(&mutex);
    rb_reach(1);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 5;
    while (ready < 1)
        RB_CHECK(pthread_cond_timedwait(&condition, &mutex, &until) == 0);
    rb_await(2);
    timed = 2;
    rb_reach(4);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 5;
    while (ready < 2)
        RB_CHECK(pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &until) == 0);
    rb_await(5);
    clocked = 2;
    pthread_mutex_unlock(&mutex);
}

int main(void)
{
    return rb_both(first, second);
}
