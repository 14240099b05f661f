/* A spin lock for both threads, and a pthread_spin_trylock that succeeds. */
#include "../order.h"
#include <errno.h>

RB_APART int locked, tried;
pthread_spinlock_t lock, other, held;

static void first(void)
{
    pthread_spin_lock(&held);
    pthread_spin_lock(&lock);
    locked = 1;
    tried = 1;
    pthread_spin_unlock(&lock);
    pthread_spin_unlock(&held);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    pthread_spin_lock(&lock);
    locked = 2;
    pthread_spin_unlock(&lock);
    RB_CHECK(pthread_spin_trylock(&held) == 0);
    tried = 2;
    pthread_spin_unlock(&held);
}

int main(void)
{
    pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    pthread_spin_init(&other, PTHREAD_PROCESS_PRIVATE);
    pthread_spin_init(&held, PTHREAD_PROCESS_PRIVATE);
    return rb_both(first, second);
}
