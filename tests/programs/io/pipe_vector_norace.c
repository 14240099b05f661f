/* writev and readv; written before the transfer. */
#include "../order.h"
#include <sys/uio.h>

int data, ends[2];

static void first(void)
{
    char text[] = "ab";
    struct iovec parts[2] = {{text, 1}, {text + 1, 1}};

    data = 1;
    RB_CHECK(writev(ends[1], parts, 2) == 2);
    rb_reach(1);
}

static void second(void)
{
    char text[2];
    struct iovec parts[2] = {{text, 1}, {text + 1, 1}};

    RB_CHECK(readv(ends[0], parts, 2) == 2);
    rb_await(1);
    data = 2;
}

int main(void)
{
    RB_CHECK(pipe(ends) == 0);
    return rb_both(first, second);
}
