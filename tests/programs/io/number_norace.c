/*
 * A number is given out again only after it was given up: what a program keeps under the number of a
 * descriptor belongs to one thread after the other, whatever made and closed the descriptor, and used or not.
 */
#define _GNU_SOURCE
#include "numbers.h"

struct {
    RB_APART long value;
} kept[WAYS];

static void first(void)
{
    void *at;

    for (int way = 0; way < WAYS; way++) {
        const int fd = get_number(way, &at);
        kept[way].value = fd;
        if (fd >= 0)
            give_up(way, fd, at);
        else
            kept[way].value = -1;
        rb_reach(2 * way + 1);
        rb_await(2 * way + 2);
    }
}

static void second(void)
{
    void *at;

    for (int way = 0; way < WAYS; way++) {
        rb_await(2 * way + 1);
        const int fd = get_number(way, &at);
        if (fd >= 0) {
            RB_CHECK(kept[way].value == fd);
            kept[way].value = 0;
            give_up(way, fd, at);
        }
        rb_reach(2 * way + 2);
    }
}

int main(void)
{
    prepare_ways();
    rb_escape(kept);
    return rb_both(first, second);
}
