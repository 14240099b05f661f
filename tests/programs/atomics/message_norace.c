/* A flag stored with release and loaded with acquire order makes the edge. */
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
    rb_await(1);
    RB_CHECK(atomic_load_explicit(&flag, memory_order_acquire) == 1);
    data = 2;
}

int main(void)
{
    return rb_both(first, second);
}
