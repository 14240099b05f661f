/* float, double and a vector of two doubles, written by two threads under one mutex. */
#include "../order.h"

typedef double rb_vector __attribute__((vector_size(16)));

RB_APART float single;
RB_APART double twice;
RB_APART rb_vector vector;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void first(void)
{
    pthread_mutex_lock(&mutex);
    single = 1;
    twice = 1;
    vector = (rb_vector){1, 2};
    pthread_mutex_unlock(&mutex);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    pthread_mutex_lock(&mutex);
    single = 2;
    twice = 2;
    vector = (rb_vector){3, 4};
    pthread_mutex_unlock(&mutex);
}

int main(void)
{
    return rb_both(first, second);
}
