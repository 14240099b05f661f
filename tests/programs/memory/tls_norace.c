/* Thread-local variables have one name and a place for each thread. */
#include "../order.h"

_Thread_local int local;
int *shared;

static void first(void)
{
    local = 1;
    rb_reach(1);
    rb_await(2);
}

static void second(void)
{

    rb_await(1);
    local = 2;
    rb_reach(2);
}

int main(void)
{
    return rb_both(first, second);
}
