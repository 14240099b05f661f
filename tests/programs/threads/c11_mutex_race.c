/* C11 mutexes: one for each thread; a mtx_trylock that failed. */
#include "../order.h"
#include <threads.h>
#include <time.h>

RB_APART int locked, tried, timed;
mtx_t lock, other, try_lock, timed_lock;

static void first(void)
{
    mtx_lock(&lock);
    locked = 1; /* RACE 1 */
    mtx_unlock(&lock);
    rb_reach(1);
    rb_await(2);
    mtx_lock(&try_lock);
    tried = 1; /* RACE 3 */
    mtx_lock(&timed_lock);
    timed = 1; /* RACE 5 */
    rb_reach(3);
    rb_await(4);
    mtx_unlock(&try_lock);
    mtx_unlock(&timed_lock);
}

static void second(void)
{
    struct timespec until;

    rb_await(1);
    mtx_lock(&other);
    locked = 2; /* RACE 2 */
    mtx_unlock(&other);
    rb_reach(2);
    rb_await(3);
    timespec_get(&until, TIME_UTC);
    RB_CHECK(mtx_trylock(&try_lock) == thrd_busy);
    tried = 2; /* RACE 4 */
    RB_CHECK(mtx_timedlock(&timed_lock, &until) == thrd_timedout);
    timed = 2; /* RACE 6 */
    rb_reach(4);
}

int main(void)
{
    mtx_init(&lock, mtx_plain);
    mtx_init(&other, mtx_plain);
    mtx_init(&try_lock, mtx_plain);
    mtx_init(&timed_lock, mtx_timed);
    return rb_both(first, second);
}
