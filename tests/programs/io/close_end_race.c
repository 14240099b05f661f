/* The end of a stream is read; written behind the close that made it end. */
#include "../order.h"
#include <sys/socket.h>

int data, ends[2];

static void first(void)
{
    RB_CHECK(shutdown(ends[0], SHUT_WR) == 0 && close(ends[0]) == 0);
    data = 1; /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    char byte;

    RB_CHECK(read(ends[1], &byte, 1) == 0);
    rb_await(1);
    data = 2; /* RACE 2 */
}

int main(void)
{
    RB_CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    return rb_both(first, second);
}
