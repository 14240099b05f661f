/* Bit-fields with a field of width zero between them are two memory locations. */
#include "../order.h"

struct {
    unsigned low : 5;
    unsigned : 0;
    unsigned high : 5;
} flags;

static void first(void)
{
    flags.low = 3;
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    flags.high = 3;
}

int main(void)
{
    return rb_both(first, second);
}
