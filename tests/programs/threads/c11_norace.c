/* C11 threads: thrd_create and thrd_join order. */
#include "../order.h"
#include <threads.h>

RB_APART int before, after;

static int child(void *argument)
{
    rb_await(1);
    before = 2;
    after = 1;
    rb_reach(2);
    return *(int *)argument;
}

int main(void)
{
    thrd_t thread;
    int value = 7, result;

    before = 1;
    RB_CHECK(thrd_create(&thread, child, &value) == thrd_success);
    rb_reach(1);
    rb_await(2);
    RB_CHECK(thrd_join(thread, &result) == thrd_success && result == 7);
    after = 2;
    return rb_done();
}
