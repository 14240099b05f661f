/* Two threads take turns round by round, and in one round both write. */
#include "../order.h"

enum { ROUNDS = 60 };
int data;
pthread_barrier_t barrier;

static void first(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        if (i % 2 == 0)
            data++;
        pthread_barrier_wait(&barrier);
    }
    data = -1; /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        if (i % 2 == 1)
            data++;
        pthread_barrier_wait(&barrier);
    }
    rb_await(1);
    data = -2; /* RACE 2 */
}

int main(void)
{
    pthread_barrier_init(&barrier, NULL, 2);
    return rb_both(first, second);
}
