/* A chain of relaxed read-modify-writes hands on the release it began with, and there was none. */
#include "../order.h"
#include <stdatomic.h>

int data;
atomic_int flag;

static void first(void)
{
    data = 1; /* RACE 1 */
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
    rb_reach(1);
}

static void second(void)
{
    int two = 2;

    rb_await(1);
    /* Used, or the compiler makes a plain store of an exchange: that would end the chain. */
    rb_use(atomic_fetch_add_explicit(&flag, 1, memory_order_relaxed));
    RB_CHECK(
        atomic_compare_exchange_strong_explicit(&flag, &two, 3, memory_order_relaxed, memory_order_relaxed));
    rb_use(atomic_exchange_explicit(&flag, 4, memory_order_relaxed));
    rb_reach(2);
}

static void third(void)
{
    rb_await(2);
    RB_CHECK(atomic_load_explicit(&flag, memory_order_acquire) == 4);
    data = 2; /* RACE 2 */
}

int main(void)
{
    return rb_three(first, second, third);
}
