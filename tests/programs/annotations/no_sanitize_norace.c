/* Functions that asked not to be instrumented. */
#include "../order.h"

RB_APART int data, quiet;

__attribute__((noinline, no_sanitize("thread"))) static void write_quietly(int value)
{
    quiet = value;
}

__attribute__((noinline, no_sanitize("thread"))) static void write_it(int value)
{
    data = value;
}

static void first(void)
{
    write_quietly(1);
    write_it(1);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    write_quietly(2);
    write_it(2);
    rb_escape(&data);
}

int main(void)
{
    return rb_both(first, second);
}
