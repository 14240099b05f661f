/* A wait for a condition gets a robust mutex back whose owner has ended with it: that comes after what the
 * owner did. */
#include "../order.h"
#include <errno.h>

int data;
pthread_mutex_t mutex;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void first(void)
{
    rb_await(1);
    pthread_mutex_lock(&mutex);
    pthread_cond_signal(&condition);
    data = 1;
}

static void second(void)
{
    pthread_mutex_lock(&mutex);
    rb_reach(1);
    RB_CHECK(pthread_cond_wait(&condition, &mutex) == EOWNERDEAD);
    data = 2;
    pthread_mutex_consistent(&mutex);
    pthread_mutex_unlock(&mutex);
}

int main(void)
{
    pthread_mutexattr_t attribute;

    pthread_mutexattr_init(&attribute);
    pthread_mutexattr_setrobust(&attribute, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutex, &attribute);
    return rb_both(first, second);
}
