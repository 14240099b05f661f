/* A wait for a condition gets a robust mutex back; a write after the mutex was given up is not ordered. */
#include "../order.h"

int data;
pthread_mutex_t mutex;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void first(void)
{
    rb_await(1);
    pthread_mutex_lock(&mutex);
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    data = 1; /* RACE 1 */
    rb_reach(2);
}

static void second(void)
{
    pthread_mutex_lock(&mutex);
    rb_reach(1);
    RB_CHECK(pthread_cond_wait(&condition, &mutex) == 0);
    rb_await(2);
    data = 2; /* RACE 2 */
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
