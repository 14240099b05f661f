/* epoll_wait says that a pipe is readable, and it is read; written before the write to the pipe. */
#include "../order.h"
#include <sys/epoll.h>

int data, ends[2], poll;

static void first(void)
{
    data = 1;
    RB_CHECK(write(ends[1], "x", 1) == 1);
    rb_reach(1);
}

static void second(void)
{
    struct epoll_event event;
    char byte;

    RB_CHECK(epoll_wait(poll, &event, 1, 5000) == 1);
    RB_CHECK(read(ends[0], &byte, 1) == 1);
    rb_await(1);
    data = 2;
}

int main(void)
{
    struct epoll_event event = {.events = EPOLLIN};

    RB_CHECK(pipe(ends) == 0);
    poll = epoll_create1(0);
    RB_CHECK(epoll_ctl(poll, EPOLL_CTL_ADD, ends[0], &event) == 0);
    return rb_both(first, second);
}
