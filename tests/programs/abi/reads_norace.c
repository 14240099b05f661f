/* Three threads read what was written before they were created: reads never race with each other. */
#include "../order.h"

int data = 1;

static void first(void)
{
    rb_use(data);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    rb_use(data);
    rb_reach(2);
}

static void third(void)
{
    rb_await(2);
    rb_use(data);
}

int main(void)
{
    data = 3;
    return rb_three(first, second, third);
}
