/* sendmsg and recvmsg; written before the transfer. */
#include "../order.h"
#include <sys/socket.h>
#include <sys/uio.h>

int data, ends[2];

static void first(void)
{
    char byte = 'x';
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    data = 1;
    RB_CHECK(sendmsg(ends[0], &message, 0) == 1);
    rb_reach(1);
}

static void second(void)
{
    char byte;
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    RB_CHECK(recvmsg(ends[1], &message, 0) == 1);
    rb_await(1);
    data = 2;
}

int main(void)
{
    RB_CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    return rb_both(first, second);
}
