/* A descriptor is closed after another thread's use of it: ordered by a mutex. */
#include "../order.h"

int ends[2];
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void first(void)
{
    pthread_mutex_lock(&mutex);
    RB_CHECK(write(ends[1], "x", 1) == 1);
    pthread_mutex_unlock(&mutex);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    pthread_mutex_lock(&mutex);
    close(ends[1]);
    pthread_mutex_unlock(&mutex);
    rb_escape(ends);
}

int main(void)
{
    RB_CHECK(pipe(ends) == 0);
    return rb_both(first, second);
}
