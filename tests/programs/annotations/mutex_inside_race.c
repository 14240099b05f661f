/* The lock's own bookkeeping, done outside the calls that announce locking, is like any other data. */
#include "../order.h"
#include <sanitizer/tsan_interface.h>

RB_APART int waiters;
RB_APART int word[2];

static void lock(int *lock)
{
    __tsan_mutex_pre_lock(lock, 0);
    __tsan_mutex_post_lock(lock, 0, 0);
    waiters++; /* RACE 1 RACE 2 */
}

static void first(void)
{
    lock(&word[0]);
    rb_reach(1);
    __tsan_mutex_pre_unlock(&word[0], 0);
    __tsan_mutex_post_unlock(&word[0], 0);
}

static void second(void)
{
    rb_await(1);
    lock(&word[1]);
    __tsan_mutex_pre_unlock(&word[1], 0);
    __tsan_mutex_post_unlock(&word[1], 0);
}

int main(void)
{
    return rb_both(first, second);
}
