/* What runs between pre_divert and post_divert is not the lock's business any more. */
#include "../order.h"
#include <sanitizer/tsan_interface.h>

RB_APART int events;
RB_APART int word[2];

static void lock(int *lock)
{
    __tsan_mutex_pre_lock(lock, 0);
    __tsan_mutex_pre_divert(lock, 0);
    events++; /* RACE 1 RACE 2 */
    __tsan_mutex_post_divert(lock, 0);
    __tsan_mutex_post_lock(lock, 0, 0);
}

static void unlock(int *lock)
{
    __tsan_mutex_pre_unlock(lock, 0);
    __tsan_mutex_post_unlock(lock, 0);
}

static void first(void)
{
    lock(&word[0]);
    unlock(&word[0]);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    lock(&word[1]);
    unlock(&word[1]);
}

int main(void)
{
    return rb_both(first, second);
}
