/* A barrier orders what is before it in one thread with what is behind it in the other. */
#include "../order.h"

int data;
pthread_barrier_t barrier;

static void first(void)
{
    pthread_barrier_wait(&barrier);
    data = 1;
    rb_reach(1);
    pthread_barrier_wait(&barrier);
}

static void second(void)
{
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    rb_await(1);
    data = 2;
}

int main(void)
{
    pthread_barrier_init(&barrier, NULL, 2);
    rb_both(first, second);
    pthread_barrier_destroy(&barrier);
    return 0;
}
