/* A write behind the cancelling of a thread, whose handlers write as well. */
#include "../order.h"

int data;

static void handler(void *nothing)
{
    (void)nothing;
    data++; /* RACE 1 */
    rb_reach(2);
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
    pthread_cancel(thread);
    rb_await(2);
    data = 1; /* RACE 2 */
    pthread_join(thread, NULL);
    return rb_done();
}
