/* A reference count dropped with relaxed order by both, without the fence of who drops it last. */
#include "../order.h"
#include <stdatomic.h>

int object;
atomic_int references = 2;

static void first(void)
{
    object = 1; /* RACE 1 */
    RB_CHECK(atomic_fetch_sub_explicit(&references, 1, memory_order_release) == 2);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    RB_CHECK(atomic_fetch_sub_explicit(&references, 1, memory_order_release) == 1);
    object = 2; /* RACE 2 */
}

int main(void)
{
    return rb_both(first, second);
}
