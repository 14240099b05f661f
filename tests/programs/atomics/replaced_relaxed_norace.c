/*
 * The releasing thread's own relaxed store goes on with its release sequence (C11 5.1.2.4), which the acquire
 * load reads from.
 */
#include "../order.h"
#include <stdatomic.h>

int data;
atomic_int flag;

static void first(void)
{
    data = 1;
    atomic_store_explicit(&flag, 1, memory_order_release);
    atomic_store_explicit(&flag, 2, memory_order_relaxed);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    rb_reach(2);
}

static void third(void)
{
    rb_await(2);
    RB_CHECK(atomic_load_explicit(&flag, memory_order_acquire) == 2);
    data = 2;
}

int main(void)
{
    return rb_three(first, second, third);
}
