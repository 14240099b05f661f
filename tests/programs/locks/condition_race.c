/* A condition variable; the data is written after the mutex was given back. */
#include "../order.h"

RB_APART int data, ready;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void first(void)
{
    pthread_mutex_lock(&mutex);
    ready = 1;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    data = 1; /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    pthread_mutex_lock(&mutex);
    while (!ready)
        pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    rb_await(1);
    data = 2; /* RACE 2 */
}

int main(void)
{
    return rb_both(first, second);
}
