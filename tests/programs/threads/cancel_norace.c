/* A cancelled thread's cleanup handler writes; that is used after the thread was joined. */
#include "../order.h"

int data;

static void clean(void *argument)
{
    (void)argument;
    data = 1;
    rb_reach(2);
}

static void child(void)
{
    pthread_cleanup_push(clean, NULL);
    rb_reach(1);
    for (;;)
        usleep(1000);
    pthread_cleanup_pop(1);
}

int main(void)
{
    pthread_t thread = rb_start(child);
    void *result;

    rb_await(1);
    pthread_cancel(thread);
    rb_await(2);
    pthread_join(thread, &result);
    RB_CHECK(result == PTHREAD_CANCELED);
    data = 2;
    return rb_done();
}
