/* A lock made of an atomic flag, taken and left with relaxed order: it excludes, but does not order. */
#include "../order.h"
#include <stdatomic.h>

#define TAKE  memory_order_relaxed
#define LEAVE memory_order_relaxed
int data;
atomic_flag lock = ATOMIC_FLAG_INIT;

static void first(void)
{
    while (atomic_flag_test_and_set_explicit(&lock, TAKE))
        ;
    data = 1; /* RACE 1 */
    atomic_flag_clear_explicit(&lock, LEAVE);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    while (atomic_flag_test_and_set_explicit(&lock, TAKE))
        ;
    data = 2; /* RACE 2 */
    atomic_flag_clear_explicit(&lock, LEAVE);
}

int main(void)
{
    return rb_both(first, second);
}
