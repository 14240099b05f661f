/* What was done before a thread is cancelled was done before its handlers run. */
#include "../order.h"

int data;

static void handler(void *nothing)
{
    (void)nothing;
    data++;
}

static void cancelled(void)
{
    pthread_cleanup_push(handler, NULL);
    rb_reach(1);
    for (;;)
        pause();
    pthread_cleanup_pop(0);
}

int main(void)
{
    pthread_t thread = rb_start(cancelled);

    rb_await(1);
    data = 1;
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    return rb_done();
}
