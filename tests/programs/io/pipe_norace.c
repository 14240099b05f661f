/* Written before the write to a pipe: ordered before who reads the pipe. */
#include "../order.h"

int data, ends[2];

static void first(void)
{
    data = 1;
    RB_CHECK(write(ends[1], "x", 1) == 1);
    rb_reach(1);
}

static void second(void)
{
    char byte;

    RB_CHECK(read(ends[0], &byte, 1) == 1);
    rb_await(1);
    data = 2;
}

int main(void)
{
    RB_CHECK(pipe(ends) == 0);
    return rb_both(first, second);
}
