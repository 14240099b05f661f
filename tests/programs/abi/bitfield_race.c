/* Adjacent bit-fields are one memory location: writing one races with reading the other. */
#include "../order.h"

struct {
    unsigned low : 5;
    unsigned high : 5;
} flags;

static void first(void)
{
    flags.low = 3; /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    flags.high = 3; /* RACE 2 */
}

int main(void)
{
    return rb_both(first, second);
}
