/*
 * The owner of a robust mutex died holding it; the next owner is ordered after all it did, and makes it
 * consistent.
 */
#include "../order.h"
#include <errno.h>

int data;
pthread_mutex_t mutex, other;

static void first(void)
{
    pthread_mutex_lock(&mutex);
    data = 1;
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    RB_CHECK(pthread_mutex_lock(&mutex) == EOWNERDEAD);
    data = 2;
    RB_CHECK(pthread_mutex_consistent(&mutex) == 0);
    pthread_mutex_unlock(&mutex);
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
