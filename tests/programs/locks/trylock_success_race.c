/* A lock taken by trylock orders up to its unlock only. */
#include "../order.h"

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void first(void)
{
    RB_CHECK(pthread_mutex_trylock(&mutex) == 0);
    pthread_mutex_unlock(&mutex);
    data = 1; /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    pthread_mutex_lock(&mutex);
    data = 2; /* RACE 2 */
    pthread_mutex_unlock(&mutex);
}

int main(void)
{
    return rb_both(first, second);
}
