/* eventfd_write and eventfd_read; written before the post. */
#include "../order.h"
#include <sys/eventfd.h>

int data, event;

static void first(void)
{
    data = 1;
    RB_CHECK(eventfd_write(event, 1) == 0);
    rb_reach(1);
}

static void second(void)
{
    eventfd_t count;

    RB_CHECK(eventfd_read(event, &count) == 0);
    rb_await(1);
    data = 2;
}

int main(void)
{
    event = eventfd(0, 0);
    RB_CHECK(event >= 0);
    return rb_both(first, second);
}
