/* The stacks of both accesses are the callers' own, also after many calls have come and gone. */
#include "../order.h"

int data;

__attribute__((noinline)) static int fibonacci(int n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__attribute__((noinline)) static void write_it(int value)
{
    data = value; /* RACE 1 RACE 2 */
    rb_use(value);
}

static void first(void)
{
    rb_use(fibonacci(12));
    write_it(1); /* CALL 1 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    rb_use(fibonacci(12));
    write_it(2); /* CALL 2 */
    rb_escape(&data);
}

int main(void)
{
    return rb_both(first, second);
}
