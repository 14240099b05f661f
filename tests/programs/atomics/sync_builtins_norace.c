/* The older __sync operations: a full barrier each, test-and-set acquires, release releases. */
#include "../order.h"

RB_APART int locked, counted;
int lock = 1, count;

static void first(void)
{
    locked = 1;
    __sync_lock_release(&lock);
    counted = 1;
    __sync_fetch_and_add(&count, 1);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    RB_CHECK(__sync_lock_test_and_set(&lock, 1) == 0);
    locked = 2;
    RB_CHECK(__sync_bool_compare_and_swap(&count, 1, 2));
    counted = 2;
}

int main(void)
{
    return rb_both(first, second);
}
