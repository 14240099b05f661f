/* A compare-exchange that fails with acquire failure order is an acquire load. */
#include "../order.h"
#include <stdatomic.h>

int data;
atomic_int flag;

static void first(void)
{
    data = 1;
    atomic_store_explicit(&flag, 1, memory_order_release);
    rb_reach(1);
}

static void second(void)
{
    int seven = 7;

    rb_await(1);
    RB_CHECK(!atomic_compare_exchange_strong_explicit(&flag, &seven, 8, memory_order_acq_rel,
                                                      memory_order_acquire));
    RB_CHECK(seven == 1);
    data = 2;
}

int main(void)
{
    return rb_both(first, second);
}
