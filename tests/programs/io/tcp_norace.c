/* TCP on the loopback: accept is ordered after connect, recv after send. */
#include "../order.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

RB_APART int connected, sent;
int listener;
struct sockaddr_in address;

static void first(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    connected = 1;
    RB_CHECK(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
    rb_reach(1);
    rb_await(2);
    sent = 1;
    RB_CHECK(send(fd, "x", 1, 0) == 1);
    rb_reach(3);
    close(fd);
}

static void second(void)
{
    int fd = accept(listener, NULL, NULL);
    char byte;

    RB_CHECK(fd >= 0);
    rb_await(1);
    connected = 2;
    rb_reach(2);
    RB_CHECK(recv(fd, &byte, 1, 0) == 1);
    rb_await(3);
    sent = 2;
    close(fd);
}

int main(void)
{
    socklen_t size = sizeof(address);

    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    RB_CHECK(bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 1) == 0);
    RB_CHECK(getsockname(listener, (struct sockaddr *)&address, &size) == 0);
    return rb_both(first, second);
}
