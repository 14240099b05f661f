/* A writer is ordered after the readers that gave the lock back, not after one that never took it. */
#include "../order.h"

RB_APART int data, noted[2];
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void first(void)
{
    pthread_rwlock_rdlock(&lock);
    rb_reach(1);
    rb_await(2);
    noted[0] = 1;
    rb_use(data);
    pthread_rwlock_unlock(&lock);
    rb_reach(3);
}

static void second(void)
{
    rb_await(1);
    rb_reach(2);
    noted[1] = 1; /* RACE 1 */
    rb_await(3);
    rb_reach(4);
}

static void third(void)
{
    rb_await(4);
    pthread_rwlock_wrlock(&lock);
    data = 3;
    noted[0] = 3;
    noted[1] = 3; /* RACE 2 */
    pthread_rwlock_unlock(&lock);
}

int main(void)
{
    return rb_three(first, second, third);
}
