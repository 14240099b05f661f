/* __tsan_acquire before the __tsan_release it should have come after. */
#include "../order.h"
#include <sanitizer/tsan_interface.h>

int data;
RB_APART int token;

static void first(void)
{
    rb_await(1);
    data = 1; /* RACE 1 */
    __tsan_release(&token);
    rb_reach(2);
}

static void second(void)
{
    __tsan_acquire(&token);
    rb_reach(1);
    rb_await(2);
    data = 2; /* RACE 2 */
}

int main(void)
{
    return rb_both(first, second);
}
