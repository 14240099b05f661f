/*
 * A number is given out again only after it was given up. One that is still in use is not, and that another
 * thread gets another number orders nothing.
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
        kept[way].value = fd; /* RACE 1 */
        rb_reach(3 * way + 1);
        rb_await(3 * way + 2);
        if (fd >= 0)
            give_up(way, fd, at);
        rb_reach(3 * way + 3);
    }
}

static void second(void)
{
    void *at;

    for (int way = 0; way < WAYS; way++) {
        rb_await(3 * way + 1);
        const int fd = get_number(way, &at);
        kept[way].value = fd; /* RACE 2 */
        rb_reach(3 * way + 2);
        rb_await(3 * way + 3);
        if (fd >= 0)
            give_up(way, fd, at);
    }
}

int main(void)
{
    prepare_ways();
    rb_escape(kept);
    return rb_both(first, second);
}
