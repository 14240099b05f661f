/* Plain use of an atomic is sequentially consistent, and orders the data before the store. */
#include "../order.h"
#include <stdatomic.h>

int data;
atomic_int flag;

static void first(void)
{
    data = 1;
    flag = 1;
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    RB_CHECK(flag == 1);
    data = 2;
}

int main(void)
{
    return rb_both(first, second);
}
