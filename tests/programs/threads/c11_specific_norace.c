/* What the destructor of a C11 key wrote is used after the thread was joined. */
#include "../order.h"
#include <threads.h>

int data;
tss_t key;

static void destroy(void *value)
{
    *(int *)value = 1;
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
    thrd_join(thread, NULL);
    data = 2;
    return rb_done();
}
