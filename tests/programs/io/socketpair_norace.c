/* A pair of sockets, streams and datagrams; written before the transfer. */
#include "../order.h"
#include <sys/socket.h>

RB_APART int stream, packet;
int streams[2], packets[2];

static void first(void)
{
    stream = 1;
    RB_CHECK(write(streams[0], "x", 1) == 1);
    rb_reach(1);
    rb_await(2);
    packet = 1;
    RB_CHECK(send(packets[0], "x", 1, 0) == 1);
    rb_reach(3);
}

static void second(void)
{
    char byte;

    RB_CHECK(read(streams[1], &byte, 1) == 1);
    rb_await(1);
    stream = 2;
    rb_reach(2);
    RB_CHECK(recv(packets[1], &byte, 1, 0) == 1);
    rb_await(3);
    packet = 2;
}

int main(void)
{
    RB_CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, streams) == 0);
    RB_CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, packets) == 0);
    return rb_both(first, second);
}
