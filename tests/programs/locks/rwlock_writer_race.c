/*
 * A reader ordered after the writer, and a read behind its unlock, which the next writer is not ordered
 * after.
 */
#include "../order.h"

int data;
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void first(void)
{
    pthread_rwlock_wrlock(&lock);
    data = 1;
    pthread_rwlock_unlock(&lock);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    pthread_rwlock_rdlock(&lock);
    pthread_rwlock_unlock(&lock);
    rb_use(data); /* RACE 1 */
    rb_reach(2);
}

static void third(void)
{
    rb_await(2);
    pthread_rwlock_wrlock(&lock);
    data = 3; /* RACE 2 */
    pthread_rwlock_unlock(&lock);
}

int main(void)
{
    return rb_three(first, second, third);
}
