/* A copy of a pipe's end by fcntl is the same pipe; written before the transfer. */
#include "../order.h"
#include <fcntl.h>

int data, ends[2], copy;

static void first(void)
{
    data = 1;
    RB_CHECK(write(copy, "x", 1) == 1);
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
    copy = fcntl(ends[1], F_DUPFD_CLOEXEC, 50);
    RB_CHECK(copy >= 50);
    return rb_both(first, second);
}
