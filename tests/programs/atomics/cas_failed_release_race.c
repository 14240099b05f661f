/* A compare-exchange that fails writes nothing, and so releases nothing. */
#include "../order.h"
#include <stdatomic.h>

int data;
atomic_int flag;

static void first(void)
{
    int expected = 7;

    data = 1; /* RACE 1 */
    RB_CHECK(!atomic_compare_exchange_strong(&flag, &expected, 8));
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    rb_use(atomic_load(&flag));
    data = 2; /* RACE 2 */
}

int main(void)
{
    return rb_both(first, second);
}
