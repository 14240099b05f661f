/* UDP on the loopback with sendto and recvfrom; written behind the send. */
#include "../order.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

int data, from, to;
struct sockaddr_in address;

static void first(void)
{
    RB_CHECK(sendto(from, "x", 1, 0, (struct sockaddr *)&address, sizeof(address)) == 1);
    data = 1; /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    char byte;

    RB_CHECK(recvfrom(to, &byte, 1, 0, NULL, NULL) == 1);
    rb_await(1);
    data = 2; /* RACE 2 */
}

int main(void)
{
    socklen_t size = sizeof(address);

    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    from = socket(AF_INET, SOCK_DGRAM, 0);
    to = socket(AF_INET, SOCK_DGRAM, 0);
    RB_CHECK(bind(to, (struct sockaddr *)&address, size) == 0);
    RB_CHECK(getsockname(to, (struct sockaddr *)&address, &size) == 0);
    return rb_both(first, second);
}
