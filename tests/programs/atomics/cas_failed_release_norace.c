/* A compare-exchange that succeeds releases. */
#include "../order.h"
#include <stdatomic.h>

int data;
atomic_int flag;

static void first(void)
{
    int expected = 0;

    data = 1;
    RB_CHECK(atomic_compare_exchange_strong(&flag, &expected, 8));
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    rb_use(atomic_load(&flag));
    data = 2;
}

int main(void)
{
    return rb_both(first, second);
}
