/* __tsan_release and __tsan_acquire of one address make an edge. */
#include "../order.h"
#include <sanitizer/tsan_interface.h>

int data;
RB_APART int token;

static void first(void)
{
    data = 1;
    __tsan_release(&token);
    rb_reach(2);
}

static void second(void)
{
    rb_await(2);
    __tsan_acquire(&token);
    data = 2;
}

int main(void)
{
    return rb_both(first, second);
}
