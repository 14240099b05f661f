/*
 * What a waiter did before it took the mutex is given on by its wait; what another does without the mutex is
 * not.
 */
#include "../order.h"

RB_APART int data, ready;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void first(void)
{
    pthread_mutex_lock(&mutex);
    data = 1; /* RACE 1 */
    rb_reach(1);
    while (!ready)
        pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
}

static void second(void)
{
    rb_await(1);
    data = 2;                   /* RACE 2 */
    pthread_mutex_lock(&mutex); /* the first is in its wait */
    ready = 1;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
}

int main(void)
{
    return rb_both(first, second);
}
