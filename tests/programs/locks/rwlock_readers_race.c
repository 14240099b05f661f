/* Two readers of a read-write lock are not ordered with each other: one that writes races. */
#include "../order.h"

int data;
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void first(void)
{
    pthread_rwlock_rdlock(&lock);
    rb_use(data); /* RACE 1 */
    pthread_rwlock_unlock(&lock);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    pthread_rwlock_rdlock(&lock);
    data = 1; /* RACE 2 */
    pthread_rwlock_unlock(&lock);
}

int main(void)
{
    return rb_both(first, second);
}
