/* Sequentially consistent fences in both threads, but nothing that one wrote is read by the other. */
#include "../order.h"
#include <stdatomic.h>

int data;
atomic_int flag, other;

static void first(void)
{
    data = 1; /* RACE 1 */
    atomic_thread_fence(memory_order_seq_cst);
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    RB_CHECK(atomic_load_explicit(&other, memory_order_relaxed) == 0);
    atomic_thread_fence(memory_order_seq_cst);
    data = 2; /* RACE 2 */
}

int main(void)
{
    return rb_both(first, second);
}
