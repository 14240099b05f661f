/* Two waiters are woken at once; both write with the mutex held. */
#include "../order.h"

RB_APART int data, ready;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void await_ready(void)
{
    pthread_mutex_lock(&mutex);
    while (!ready)
        pthread_cond_wait(&condition, &mutex);
    data++;
    pthread_mutex_unlock(&mutex);
}

static void first(void)
{
    await_ready();
    rb_reach(1);
}

static void second(void)
{
    await_ready();
    rb_await(1);
}

static void third(void)
{
    usleep(5000);
    pthread_mutex_lock(&mutex);
    ready = 1;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    rb_await(1);
}

int main(void)
{
    return rb_three(first, second, third);
}
