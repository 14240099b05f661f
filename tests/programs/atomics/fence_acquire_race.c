/* An acquire fence before the relaxed load orders nothing that the load sees. */
#include "../order.h"
#include <stdatomic.h>

int data;
atomic_int flag;

static void first(void)
{
    data = 1; /* RACE 1 */
    atomic_store_explicit(&flag, 1, memory_order_release);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    atomic_thread_fence(memory_order_acquire);
    RB_CHECK(atomic_load_explicit(&flag, memory_order_relaxed) == 1);
    data = 2; /* RACE 2 */
}

int main(void)
{
    return rb_both(first, second);
}
