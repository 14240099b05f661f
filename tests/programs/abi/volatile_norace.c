/* volatile data of two threads under one mutex. */
#include "../order.h"

RB_APART volatile int ready;
RB_APART volatile long total;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void first(void)
{
    pthread_mutex_lock(&mutex);
    total = 1;
    ready = 1;
    pthread_mutex_unlock(&mutex);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    pthread_mutex_lock(&mutex);
    (void)ready;
    total = 2;
    pthread_mutex_unlock(&mutex);
}

int main(void)
{
    return rb_both(first, second);
}
