/* Data written behind the sequentially consistent store is not ordered by it. */
#include "../order.h"
#include <stdatomic.h>

int data;
atomic_int flag;

static void first(void)
{
    flag = 1;
    data = 1; /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    RB_CHECK(flag == 1);
    data = 2; /* RACE 2 */
}

int main(void)
{
    return rb_both(first, second);
}
