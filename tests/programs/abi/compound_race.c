/* x += 1 reads and writes: it races with a read of another thread and with another x += 1. */
#include "../order.h"

RB_APART int counter;
RB_APART long sum;

static void first(void)
{
    counter += 1; /* RACE 1 */
    sum++;        /* RACE 3 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    rb_use(counter); /* RACE 2 */
    sum++;           /* RACE 4 */
}

int main(void)
{
    return rb_both(first, second);
}
