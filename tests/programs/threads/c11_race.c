/* C11 threads: used before thrd_join. */
#include "../order.h"
#include <threads.h>

RB_APART int before, after;

static int child(void *argument)
{
    rb_await(1);
    before = 2; /* RACE 2 */
    after = 1;  /* RACE 3 */
    rb_reach(2);
    return *(int *)argument;
}

int main(void)
{
    thrd_t thread;
    int value = 7, result;

    RB_CHECK(thrd_create(&thread, child, &value) == thrd_success);
    before = 1; /* RACE 1 */
    rb_reach(1);
    rb_await(2);
    after = 2; /* RACE 4 */
    RB_CHECK(thrd_join(thread, &result) == thrd_success && result == 7);
    return rb_done();
}
