/* A lock that is taken while another one is being locked orders what comes after both, if it is the same one. */
#include "../order.h"
#include <sanitizer/tsan_interface.h>

RB_APART int data;
RB_APART int inner[2];
RB_APART int outer;

static void lock(int *lock)
{
    __tsan_mutex_pre_lock(lock, 0);
    __tsan_mutex_post_lock(lock, 0, 0);
}

static void unlock(int *lock)
{
    __tsan_mutex_pre_unlock(lock, 0);
    __tsan_mutex_post_unlock(lock, 0);
}

static void first(void)
{
    data = 1; /* RACE 1 */
    lock(&inner[0]);
    unlock(&inner[0]);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    __tsan_mutex_pre_lock(&outer, 0);
    lock(&inner[1]);
    unlock(&inner[1]);
    __tsan_mutex_post_lock(&outer, 0, 0);
    data = 2; /* RACE 2 */
    unlock(&outer);
}

int main(void)
{
    return rb_both(first, second);
}
