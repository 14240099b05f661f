/* memcpy, memset and memmove of a few bytes, their number known to the compiler, beside plain accesses. */
#include "../order.h"
#include <string.h>

struct words {
    long low, high;
};

RB_APART struct words source, copied, cleared, moved, target;
#define WORD high

static void first(void)
{
    source.WORD = 1;
    memcpy(&copied, &target, 8);
    memset(&cleared, 0, 8);
    memmove(&moved, &target, 8);
    rb_reach(1);
}

static void second(void)
{
    long local;

    rb_await(1);
    memcpy(&local, &source, 8);
    rb_use(local);
    rb_use(copied.WORD);
    cleared.WORD = 1;
    rb_use(moved.WORD);
}

int main(void)
{
    return rb_both(first, second);
}
