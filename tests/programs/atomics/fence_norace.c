/*
 * A release fence before a relaxed store synchronizes with an acquire fence behind the relaxed load that
 * reads it.
 */
#include "../order.h"
#include <stdatomic.h>

int data;
atomic_int flag;

static void first(void)
{
    data = 1;
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    RB_CHECK(atomic_load_explicit(&flag, memory_order_relaxed) == 1);
    atomic_thread_fence(memory_order_acquire);
    data = 2;
}

int main(void)
{
    return rb_both(first, second);
}
