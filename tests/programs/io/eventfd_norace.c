/* An eventfd; written before the post. */
#include "../order.h"
#include <stdint.h>
#include <sys/eventfd.h>

int data, event;

static void first(void)
{
    uint64_t one = 1;

    data = 1;
    RB_CHECK(write(event, &one, sizeof(one)) == sizeof(one));
    rb_reach(1);
}

static void second(void)
{
    uint64_t count;

    RB_CHECK(read(event, &count, sizeof(count)) == sizeof(count));
    rb_await(1);
    data = 2;
}

int main(void)
{
    event = eventfd(0, 0);
    RB_CHECK(event >= 0);
    return rb_both(first, second);
}
