/* Two readers of a read-write lock read, a writer writes. */
#include "../order.h"

int data;
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void first(void)
{
    pthread_rwlock_rdlock(&lock);
    rb_use(data);
    pthread_rwlock_unlock(&lock);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    pthread_rwlock_wrlock(&lock);
    data = 1;
    pthread_rwlock_unlock(&lock);
}

int main(void)
{
    return rb_both(first, second);
}
