/* Each release joins what was released before, but only an acquire orders: the second thread makes none. */
#include "../order.h"
#include <sanitizer/tsan_interface.h>

RB_APART int one, two, token;

static void first(void)
{
    one = 1; /* RACE 1 */
    __tsan_release(&token);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    two = 1;
    __tsan_release(&token);
    one = 2; /* RACE 2 */
    rb_reach(2);
}

static void third(void)
{
    rb_await(2);
    __tsan_acquire(&token);
    two = 3;
}

int main(void)
{
    return rb_three(first, second, third);
}
