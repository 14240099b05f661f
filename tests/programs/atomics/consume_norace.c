/* A pointer published with release and loaded with consume order: what it points to is ordered. */
#include "../order.h"
#include <stdatomic.h>

int data;
_Atomic(int *) pointer;

static void first(void)
{
    data = 1;
    atomic_store_explicit(&pointer, &data, memory_order_release);
    rb_reach(1);
}

static void second(void)
{
    int *seen;

    rb_await(1);
    seen = atomic_load_explicit(&pointer, memory_order_consume);
    RB_CHECK(seen == &data);
    rb_use(*seen);
}

int main(void)
{
    return rb_both(first, second);
}
