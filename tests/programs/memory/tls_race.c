/* A thread-local variable is shared by its address. */
#include "../order.h"

_Thread_local int local;
int *shared;

static void first(void)
{
    local = 1; /* RACE 1 */
    rb_put(&shared, &local);
    rb_reach(1);
    rb_await(2);
}

static void second(void)
{
    int *seen;

    rb_await(1);
    seen = rb_get(&shared);
    *seen = 2; /* RACE 2 */
    rb_reach(2);
}

int main(void)
{
    return rb_both(first, second);
}
