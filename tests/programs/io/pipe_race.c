/* Written behind the write to a pipe: not ordered before who reads the pipe. */
#include "../order.h"

int data, ends[2];

static void first(void)
{
    RB_CHECK(write(ends[1], "x", 1) == 1);
    data = 1; /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    char byte;

    RB_CHECK(read(ends[0], &byte, 1) == 1);
    rb_await(1);
    data = 2; /* RACE 2 */
}

int main(void)
{
    RB_CHECK(pipe(ends) == 0);
    return rb_both(first, second);
}
