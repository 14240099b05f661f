/*
 * A reference count dropped with release order; who drops it last has an acquire fence before it clears up.
 */
#include "../order.h"
#include <stdatomic.h>

int object;
atomic_int references = 2;

static void first(void)
{
    object = 1;
    RB_CHECK(atomic_fetch_sub_explicit(&references, 1, memory_order_release) == 2);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    RB_CHECK(atomic_fetch_sub_explicit(&references, 1, memory_order_release) == 1);
    atomic_thread_fence(memory_order_acquire);
    object = 2;
}

int main(void)
{
    return rb_both(first, second);
}
