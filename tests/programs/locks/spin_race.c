/* Spin locks: one for each thread, and a pthread_spin_trylock that fails. */
#include "../order.h"
#include <errno.h>

RB_APART int locked, tried;
pthread_spinlock_t lock, other, held;

static void first(void)
{
    pthread_spin_lock(&held);
    pthread_spin_lock(&lock);
    locked = 1; /* RACE 1 */
    tried = 1;  /* RACE 3 */
    pthread_spin_unlock(&lock);
    rb_reach(1);
    rb_await(2);
    pthread_spin_unlock(&held);
}

static void second(void)
{
    rb_await(1);
    pthread_spin_lock(&other);
    locked = 2; /* RACE 2 */
    pthread_spin_unlock(&other);
    RB_CHECK(pthread_spin_trylock(&held) == EBUSY);
    tried = 2; /* RACE 4 */
    rb_reach(2);
}

int main(void)
{
    pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    pthread_spin_init(&other, PTHREAD_PROCESS_PRIVATE);
    pthread_spin_init(&held, PTHREAD_PROCESS_PRIVATE);
    return rb_both(first, second);
}
