/* Release without acquire, and acquire without release, make no edge. */
#include "../order.h"
#include <stdatomic.h>

RB_APART int stored, loaded;
atomic_int released, acquired;

static void first(void)
{
    stored = 1; /* RACE 1 */
    atomic_store_explicit(&released, 1, memory_order_release);
    loaded = 1; /* RACE 3 */
    atomic_store_explicit(&acquired, 1, memory_order_relaxed);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    /* What was released is not acquired before `loaded` is touched: it would order that as well. */
    RB_CHECK(atomic_load_explicit(&acquired, memory_order_acquire) == 1);
    loaded = 2; /* RACE 4 */
    RB_CHECK(atomic_load_explicit(&released, memory_order_relaxed) == 1);
    stored = 2; /* RACE 2 */
}

int main(void)
{
    return rb_both(first, second);
}
