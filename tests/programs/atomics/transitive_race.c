/* A hands to B with release and acquire, B to C with relaxed order: A's data is not C's. */
#include "../order.h"
#include <stdatomic.h>

int data;
atomic_int to_second, to_third;

static void first(void)
{
    data = 1; /* RACE 1 */
    atomic_store_explicit(&to_second, 1, memory_order_release);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    rb_use(atomic_load_explicit(&to_second, memory_order_acquire));
    atomic_store_explicit(&to_third, 1, memory_order_relaxed);
    rb_reach(2);
}

static void third(void)
{
    rb_await(2);
    rb_use(atomic_load_explicit(&to_third, memory_order_acquire));
    data = 2; /* RACE 2 */
}

int main(void)
{
    return rb_three(first, second, third);
}
