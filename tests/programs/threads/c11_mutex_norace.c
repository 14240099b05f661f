/* C11 mutexes: mtx_lock, mtx_trylock and mtx_timedlock that succeed. */
#include "../order.h"
#include <threads.h>
#include <time.h>

RB_APART int locked, tried, timed;
mtx_t lock, other, try_lock, timed_lock;

static void first(void)
{
    mtx_lock(&lock);
    locked = 1;
    mtx_unlock(&lock);
    rb_reach(1);
    mtx_lock(&try_lock);
    tried = 1;
    mtx_unlock(&try_lock);
    mtx_lock(&timed_lock);
    timed = 1;
    mtx_unlock(&timed_lock);
    rb_reach(3);
}

static void second(void)
{
    struct timespec until;

    rb_await(1);
    mtx_lock(&lock);
    locked = 2;
    mtx_unlock(&lock);
    rb_await(3);
    timespec_get(&until, TIME_UTC);
    RB_CHECK(mtx_trylock(&try_lock) == thrd_success);
    tried = 2;
    mtx_unlock(&try_lock);
    RB_CHECK(mtx_timedlock(&timed_lock, &until) == thrd_success);
    timed = 2;
    mtx_unlock(&timed_lock);
}

int main(void)
{
    mtx_init(&lock, mtx_plain);
    mtx_init(&other, mtx_plain);
    mtx_init(&try_lock, mtx_plain);
    mtx_init(&timed_lock, mtx_timed);
    return rb_both(first, second);
}
