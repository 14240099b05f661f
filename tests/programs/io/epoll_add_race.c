/* A descriptor is added to an epoll another thread waits at; written behind the adding. */
#include "../order.h"
#include <sys/epoll.h>

int data, ends[2], poll;

static void first(void)
{
    struct epoll_event event = {.events = EPOLLIN};

    RB_CHECK(epoll_ctl(poll, EPOLL_CTL_ADD, ends[0], &event) == 0);
    data = 1; /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    struct epoll_event event;

    RB_CHECK(epoll_wait(poll, &event, 1, 5000) == 1);
    rb_await(1);
    data = 2; /* RACE 2 */
}

int main(void)
{
    RB_CHECK(pipe(ends) == 0);
    RB_CHECK(write(ends[1], "x", 1) == 1);
    poll = epoll_create1(0);
    return rb_both(first, second);
}
