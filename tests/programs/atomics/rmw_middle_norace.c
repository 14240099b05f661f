/* Each release in a chain of read-modify-writes is acquired by who reads its end. */
#include "../order.h"
#include <stdatomic.h>

RB_APART int before, middle;
atomic_int count;

static void first(void)
{
    before = 1;
    atomic_fetch_add_explicit(&count, 1, memory_order_release);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    middle = 1;
    atomic_fetch_add_explicit(&count, 1, memory_order_release);
    rb_reach(2);
}

static void third(void)
{
    rb_await(2);
    RB_CHECK(atomic_load_explicit(&count, memory_order_acquire) == 2);
    before = 2;
    middle = 2;
}

int main(void)
{
    return rb_three(first, second, third);
}
