/* Release with acquire, for two flags. */
#include "../order.h"
#include <stdatomic.h>

RB_APART int stored, loaded;
atomic_int released, acquired;

static void first(void)
{
    stored = 1;
    atomic_store_explicit(&released, 1, memory_order_release);
    loaded = 1;
    atomic_store_explicit(&acquired, 1, memory_order_release);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    /* What was released is not acquired before `loaded` is touched: it would order that as well. */
    RB_CHECK(atomic_load_explicit(&acquired, memory_order_acquire) == 1);
    loaded = 2;
    RB_CHECK(atomic_load_explicit(&released, memory_order_acquire) == 1);
    stored = 2;
}

int main(void)
{
    return rb_both(first, second);
}
