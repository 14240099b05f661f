/* The older __sync operations, with the data behind the operation that releases. */
#include "../order.h"

RB_APART int locked, counted;
int lock = 1, count;

static void first(void)
{
    __sync_lock_release(&lock);
    locked = 1; /* RACE 1 */
    __sync_fetch_and_add(&count, 1);
    counted = 1; /* RACE 3 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    RB_CHECK(__sync_lock_test_and_set(&lock, 1) == 0);
    locked = 2; /* RACE 2 */
    RB_CHECK(__sync_bool_compare_and_swap(&count, 1, 2));
    counted = 2; /* RACE 4 */
}

int main(void)
{
    return rb_both(first, second);
}
