/* A barrier is made by one thread and waited at by another, which has heard of it. */
#include "../order.h"

pthread_barrier_t barrier;
int ready;

static void first(void)
{
    pthread_barrier_init(&barrier, NULL, 2);
    __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
    pthread_barrier_wait(&barrier);
}

static void second(void)
{
    while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
        ;
    pthread_barrier_wait(&barrier);
}

int main(void)
{
    return rb_both(first, second);
}
