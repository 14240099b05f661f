/* Releases of two threads join: one acquire is ordered after both. */
#include "../order.h"
#include <sanitizer/tsan_interface.h>

RB_APART int one, two, token;

static void first(void)
{
    one = 1;
    __tsan_release(&token);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    two = 1;
    __tsan_release(&token);
    rb_reach(2);
}

static void third(void)
{
    rb_await(2);
    __tsan_acquire(&token);
    one = 3;
    two = 3;
}

int main(void)
{
    return rb_three(first, second, third);
}
