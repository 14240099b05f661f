/* An eventfd waited for edge by edge and never read: the write that makes epoll_wait return orders. */
#include "../order.h"
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

int data, event, poll;

static void first(void)
{
    uint64_t one = 1;

    data = 1;
    RB_CHECK(write(event, &one, sizeof(one)) == sizeof(one));
    rb_reach(1);
}

static void second(void)
{
    struct epoll_event ready;

    RB_CHECK(epoll_wait(poll, &ready, 1, 5000) == 1);
    rb_await(1);
    data = 2;
}

int main(void)
{
    struct epoll_event wanted = {.events = EPOLLIN | EPOLLET};

    event = eventfd(0, EFD_NONBLOCK);
    wanted.data.fd = event;
    poll = epoll_create1(0);
    RB_CHECK(epoll_ctl(poll, EPOLL_CTL_ADD, event, &wanted) == 0);
    return rb_both(first, second);
}
