/* An acquire load that sees the new value, after one that did not. */
#include "../order.h"
#include <stdatomic.h>

int data;
atomic_int flag;

static void first(void)
{
    rb_await(1);
    data = 1;
    atomic_store_explicit(&flag, 1, memory_order_release);
    rb_reach(2);
}

static void second(void)
{
    RB_CHECK(atomic_load_explicit(&flag, memory_order_acquire) == 0);
    rb_reach(1);
    rb_await(2);
    RB_CHECK(atomic_load_explicit(&flag, memory_order_acquire) == 1);
    data = 2;
}

int main(void)
{
    return rb_both(first, second);
}
