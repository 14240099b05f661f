/*
 * A mutex is made by one thread and used by another, which another mutex tells when it is ready.
 */
#include "../order.h"

RB_APART static pthread_mutex_t made, tells = PTHREAD_MUTEX_INITIALIZER;
RB_APART static int shared;

static void maker(void)
{
    pthread_mutex_lock(&tells);
    pthread_mutex_init(&made, NULL);
    pthread_mutex_unlock(&tells);
    pthread_mutex_lock(&made);
    shared = 1;
    pthread_mutex_unlock(&made);
    rb_reach(1);
}

static void user(void)
{
    rb_await(1);
    pthread_mutex_lock(&tells);
    pthread_mutex_unlock(&tells);
    pthread_mutex_lock(&made);
    shared = 2;
    pthread_mutex_unlock(&made);
}

int main(void)
{
    return rb_both(maker, user);
}
