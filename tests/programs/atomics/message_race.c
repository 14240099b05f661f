/* A flag stored and loaded with relaxed order makes no edge. */
#include "../order.h"
#include <stdatomic.h>

int data;
atomic_int flag;

static void first(void)
{
    data = 1; /* RACE 1 */
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    RB_CHECK(atomic_load_explicit(&flag, memory_order_relaxed) == 1);
    data = 2; /* RACE 2 */
}

int main(void)
{
    return rb_both(first, second);
}
