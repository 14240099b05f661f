/* Written before the thread is created: pthread_create orders it before all the thread does. */
#include "../order.h"

int data;

static void child(void)
{
    rb_await(1);
    data = 2;
}

int main(void)
{
    pthread_t thread;

    data = 1;
    thread = rb_start(child);
    rb_reach(1);
    pthread_join(thread, NULL);
    return rb_done();
}
