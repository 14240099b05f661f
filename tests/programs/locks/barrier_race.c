/* Two threads write the same between two rounds of a barrier. */
#include "../order.h"

int data;
pthread_barrier_t barrier;

static void first(void)
{
    pthread_barrier_wait(&barrier);
    data = 1; /* RACE 1 */
    rb_reach(1);
    pthread_barrier_wait(&barrier);
}

static void second(void)
{
    pthread_barrier_wait(&barrier);
    rb_await(1);
    data = 2; /* RACE 2 */
    pthread_barrier_wait(&barrier);
}

int main(void)
{
    pthread_barrier_init(&barrier, NULL, 2);
    rb_both(first, second);
    pthread_barrier_destroy(&barrier);
    return 0;
}
