/* A pointer published and loaded with relaxed order: what it points to is not ordered. */
#include "../order.h"
#include <stdatomic.h>

int data;
_Atomic(int *) pointer;

static void first(void)
{
    data = 1; /* RACE 1 */
    atomic_store_explicit(&pointer, &data, memory_order_relaxed);
    rb_reach(1);
}

static void second(void)
{
    int *seen;

    rb_await(1);
    seen = atomic_load_explicit(&pointer, memory_order_relaxed);
    RB_CHECK(seen == &data);
    rb_use(*seen); /* RACE 2 */
}

int main(void)
{
    return rb_both(first, second);
}
