/*
 * Two threads read, then a third writes, all unordered: the write races with both reads, and one report will
 * do.
 */
#include "../order.h"

int data = 1;

static void first(void)
{
    rb_use(data); /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    rb_use(data); /* RACE 1 */
    rb_reach(2);
}

static void third(void)
{
    rb_await(2);
    data = 2; /* RACE 2 */
}

int main(void)
{
    data = 3;
    return rb_three(first, second, third);
}
