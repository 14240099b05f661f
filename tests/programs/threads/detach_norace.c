/* A detached thread hands over through a mutex. */
#include "../order.h"

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void child(void)
{
    pthread_mutex_lock(&mutex);
    data = 1;
    pthread_mutex_unlock(&mutex);
    rb_reach(1);
}

int main(void)
{
    pthread_detach(rb_start(child));
    rb_await(1);
    pthread_mutex_lock(&mutex);
    data = 2;
    pthread_mutex_unlock(&mutex);
    return rb_done();
}
