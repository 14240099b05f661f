/* A descriptor is closed although nothing orders that after another thread's use of it. */
#include "../order.h"

int ends[2];

static void first(void)
{
    RB_CHECK(write(ends[1], "x", 1) == 1); /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    close(ends[1]); /* RACE 2 */
    rb_escape(ends);
}

int main(void)
{
    RB_CHECK(pipe(ends) == 0);
    return rb_both(first, second);
}
