/* A read-modify-write with release order does not acquire. */
#include "../order.h"
#include <stdatomic.h>

int data;
atomic_int count;

static void first(void)
{
    data = 1; /* RACE 1 */
    atomic_fetch_add_explicit(&count, 1, memory_order_release);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    atomic_fetch_add_explicit(&count, 1, memory_order_release);
    data = 2; /* RACE 2 */
}

int main(void)
{
    return rb_both(first, second);
}
