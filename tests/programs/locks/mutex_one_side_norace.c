/* Data read by two threads without the lock, and written by neither. */
#include "../order.h"

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void first(void)
{
    pthread_mutex_lock(&mutex);
    rb_use(data);
    pthread_mutex_unlock(&mutex);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    rb_use(data);
}

int main(void)
{
    return rb_both(first, second);
}
