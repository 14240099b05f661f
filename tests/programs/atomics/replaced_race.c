/*
 * Another thread's release store takes the place of the first: who reads it synchronizes with that thread
 * only.
 */
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
    atomic_store_explicit(&flag, 2, memory_order_release);
    rb_reach(2);
}

static void third(void)
{
    rb_await(2);
    RB_CHECK(atomic_load_explicit(&flag, memory_order_acquire) == 2);
    data = 2; /* RACE 2 */
}

int main(void)
{
    return rb_three(first, second, third);
}
