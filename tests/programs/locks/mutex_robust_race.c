/* The owner of one robust mutex died holding it; the next thread takes another. */
#include "../order.h"
#include <errno.h>

int data;
pthread_mutex_t mutex, other;

static void first(void)
{
    pthread_mutex_lock(&mutex);
    data = 1; /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    RB_CHECK(pthread_mutex_lock(&other) == 0);
    data = 2; /* RACE 2 */
    pthread_mutex_unlock(&other);
}

int main(void)
{
    pthread_mutexattr_t attributes;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutex, &attributes);
    pthread_mutex_init(&other, &attributes);
    return rb_both(first, second);
}
