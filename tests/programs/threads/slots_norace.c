/*
 * A thread that has ended handed on what it had heard, by a mutex for each of many later threads: whichever
 * of them the detector takes for the same, it hears all of it.
 */
#include "../order.h"

enum { LATER = 150 };
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, each[LATER];
int data[8], ready RB_APART, told[LATER];

static void *first(void *nothing)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 8; i++)
        data[i] = 1;
    ready = 1;
    pthread_mutex_unlock(&lock);
    rb_reach(1);
    return nothing;
}

static void *second(void *nothing)
{
    rb_await(1);
    pthread_mutex_lock(&lock);
    const int seen = ready;
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < LATER; i++) {
        pthread_mutex_lock(&each[i]);
        told[i] = seen;
        pthread_mutex_unlock(&each[i]);
    }
    rb_reach(2);
    return nothing;
}

static void *later(void *number)
{
    const int n = (int)(long)number;

    pthread_mutex_lock(&each[n]);
    const int seen = told[n];
    pthread_mutex_unlock(&each[n]);
    for (int i = 0; i < 8 && seen; i++)
        rb_use(data[i]);
    rb_reach(3 + n);
    return NULL;
}

int main(void)
{
    pthread_attr_t detached;
    pthread_t thread;

    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (int i = 0; i < LATER; i++)
        pthread_mutex_init(&each[i], NULL);
    RB_CHECK(pthread_create(&thread, &detached, first, NULL) == 0);
    RB_CHECK(pthread_create(&thread, &detached, second, NULL) == 0);
    rb_await(2);
    for (long i = 0; i < LATER; i++) {
        RB_CHECK(pthread_create(&thread, &detached, later, (void *)i) == 0);
        rb_await(3 + (int)i);
        usleep(200);
    }
    return rb_done();
}
