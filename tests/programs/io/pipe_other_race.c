/* What goes through one pipe does not order who reads another. */
#define _GNU_SOURCE
#include "../order.h"
#include <fcntl.h>

int data, one[2], two[2];

static void first(void)
{
    data = 1; /* RACE 1 */
    RB_CHECK(write(one[1], "x", 1) == 1);
    rb_reach(1);
}

static void second(void)
{
    char byte;

    rb_await(1);
    RB_CHECK(read(two[0], &byte, 1) == 1);
    data = 2; /* RACE 2 */
}

int main(void)
{
    RB_CHECK(pipe2(one, O_CLOEXEC) == 0 && pipe2(two, O_CLOEXEC) == 0);
    RB_CHECK(write(two[1], "y", 1) == 1);
    return rb_both(first, second);
}
