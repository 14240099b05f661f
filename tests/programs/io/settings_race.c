/* What is asked of descriptors, and was changed by another thread, which writes behind the change. Asking for
 * one says nothing of what was set later, nor does reading. */
#include "../order.h"
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

int ends[2], pair[2];
int RB_APART data, RB_APART other, RB_APART last;

static void first(void)
{
    const int on = 1;

    RB_CHECK(write(ends[1], "x", 1) == 1);
    data = 1; /* RACE 1 */
    RB_CHECK(setsockopt(pair[0], SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)) == 0);
    other = 1; /* RACE 3 */
    rb_reach(1);
    rb_await(2);
    RB_CHECK(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
    last = 1; /* RACE 5 */
    rb_reach(3);
}

static void second(void)
{
    char byte;
    int n = 0;
    socklen_t size = sizeof(n);

    rb_await(1);
    RB_CHECK(ioctl(ends[0], FIONREAD, &n) == 0 && n == 1);
    RB_CHECK(read(ends[0], &byte, 1) == 1);
    data = 2; /* RACE 2 */
    RB_CHECK(getsockopt(pair[0], SOL_SOCKET, SO_KEEPALIVE, &n, &size) == 0 && n);
    other = 2; /* RACE 4 */
    rb_reach(2);
    rb_await(3);
    RB_CHECK(fcntl(ends[0], F_GETFL) & O_NONBLOCK);
    last = 2; /* RACE 6 */
}

int main(void)
{
    RB_CHECK(pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    return rb_both(first, second);
}
