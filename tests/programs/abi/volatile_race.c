/* volatile orders nothing between threads. */
#include "../order.h"

RB_APART volatile int ready;
RB_APART volatile long total;

static void first(void)
{
    total = 1; /* RACE 1 */
    ready = 1; /* RACE 3 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    (void)ready; /* RACE 4 */
    total = 2;   /* RACE 2 */
}

int main(void)
{
    return rb_both(first, second);
}
