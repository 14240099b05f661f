/*
 * Calls that fill in an address or a value write as much of the caller's room as there was to say, and its
 * length: bytes behind are not theirs.
 */
#include "../order.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { TOUCHED = 20, NAMES = 7, SHORT = 8 };
int server, client, from, to;
RB_APART char name[NAMES][32];
struct sockaddr_in address[2];

static int called(int i)
{
    return i >= 0;
}

static void first(void)
{
    socklen_t size[NAMES];
    char byte;
    struct iovec piece = {&byte, 1};
    struct msghdr message = {.msg_name = name[5], .msg_namelen = 32, .msg_iov = &piece, .msg_iovlen = 1};

    for (int i = 0; i < NAMES; i++)
        size[i] = i < 6 ? 32 : SHORT;
    const int accepted = accept(server, (struct sockaddr *)name[0], &size[0]);
    RB_CHECK(called(accepted));
    RB_CHECK(called(getpeername(accepted, (struct sockaddr *)name[1], &size[1])));
    RB_CHECK(called(getsockname(accepted, (struct sockaddr *)name[2], &size[2])));
    RB_CHECK(called(getsockopt(accepted, SOL_SOCKET, SO_LINGER, name[3], &size[3])));
    RB_CHECK(called(recvfrom(to, &byte, 1, 0, (struct sockaddr *)name[4], &size[4])));
    RB_CHECK(called(recvmsg(to, &message, 0)));
    RB_CHECK(called(getsockname(to, (struct sockaddr *)name[6], &size[6])) && size[6] == 16);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    name[0][TOUCHED] = 'x';
    name[1][TOUCHED] = 'x';
    name[2][TOUCHED] = 'x';
    name[3][TOUCHED] = 'x';
    name[4][TOUCHED] = 'x';
    name[5][TOUCHED] = 'x';
    name[6][SHORT] = 'x';
}

static int make(int type, struct sockaddr_in *at)
{
    const int fd = socket(AF_INET, type, 0);
    socklen_t size = sizeof(*at);

    at->sin_family = AF_INET;
    at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    RB_CHECK(bind(fd, (struct sockaddr *)at, size) == 0);
    RB_CHECK(getsockname(fd, (struct sockaddr *)at, &size) == 0);
    return fd;
}

int main(void)
{
    server = make(SOCK_STREAM, &address[0]);
    to = make(SOCK_DGRAM, &address[1]);
    client = socket(AF_INET, SOCK_STREAM, 0);
    from = socket(AF_INET, SOCK_DGRAM, 0);
    RB_CHECK(listen(server, 1) == 0);
    RB_CHECK(connect(client, (struct sockaddr *)&address[0], sizeof(address[0])) == 0);
    for (int i = 0; i < 2; i++)
        RB_CHECK(sendto(from, "x", 1, 0, (struct sockaddr *)&address[1], sizeof(address[1])) == 1);
    return rb_both(first, second);
}
