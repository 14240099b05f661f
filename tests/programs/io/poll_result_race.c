/*
 * poll writes what it has found into every element, also where that is nothing.
 */
#include <poll.h>

#include "../order.h"

RB_APART static struct pollfd asked = {.fd = -1, .events = POLLIN};

static void poller(void)
{
    RB_CHECK(poll(&asked, 1, 0) == 0); /* RACE 1 */
    rb_reach(1);
}

static void other(void)
{
    rb_await(1);
    asked.revents = POLLIN; /* RACE 2 */
}

int main(void)
{
    return rb_both(poller, other);
}
