/*
 * A long double, written by two threads that nothing orders.
 * compilers: gcc (clang does not instrument accesses of ten bytes)
 */
#include "../order.h"

long double extended;

static void first(void)
{
    extended = 1; /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    extended = 2; /* RACE 2 */
}

int main(void)
{
    return rb_both(first, second);
}
