/* Waiting gives the mutex back: what a waiter did before its wait is ordered before who signals it. */
#include "../order.h"

RB_APART int data, ready;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void first(void)
{
    pthread_mutex_lock(&mutex);
    data = 1;
    rb_reach(1);
    while (!ready)
        pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
}

static void second(void)
{
    rb_await(1);
    pthread_mutex_lock(&mutex); /* the first is in its wait */
    data = 2;
    ready = 1;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
}

int main(void)
{
    return rb_both(first, second);
}
