/* What the destructor of a C11 key wrote is used before the thread is joined. */
#include "../order.h"
#include <threads.h>

int data;
tss_t key;

static void destroy(void *value)
{
    *(int *)value = 1; /* RACE 1 */
    rb_reach(1);
}

static int child(void *argument)
{
    tss_set(key, argument);
    return 0;
}

int main(void)
{
    thrd_t thread;

    tss_create(&key, destroy);
    thrd_create(&thread, child, &data);
    rb_await(1);
    data = 2; /* RACE 2 */
    thrd_join(thread, NULL);
    return rb_done();
}
