/*
 * Locks and a condition are destroyed by a thread that does not know whether the other is done with them.
 */
#include "../order.h"

RB_APART static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
RB_APART static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
RB_APART static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void user(void)
{
    pthread_mutex_lock(&mutex); /* RACE 1 */
    pthread_mutex_unlock(&mutex);
    pthread_rwlock_rdlock(&lock); /* RACE 3 */
    pthread_rwlock_unlock(&lock);
    pthread_cond_signal(&condition); /* RACE 5 */
    rb_reach(1);
}

static void destroyer(void)
{
    rb_await(1);
    pthread_mutex_destroy(&mutex);    /* RACE 2 */
    pthread_rwlock_destroy(&lock);    /* RACE 4 */
    pthread_cond_destroy(&condition); /* RACE 6 */
}

int main(void)
{
    return rb_both(user, destroyer);
}
