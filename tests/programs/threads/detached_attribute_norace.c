/* A thread created detached is ordered after what came before its creation. */
#include "../order.h"

int data;

static void child(void)
{
    rb_await(1);
    data = 2;
    rb_reach(2);
}

int main(void)
{
    pthread_attr_t attributes;
    pthread_t thread;

    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    data = 1;
    RB_CHECK(pthread_create(&thread, &attributes, rb_call, (void *)child) == 0);
    rb_reach(1);
    pthread_attr_destroy(&attributes);
    rb_await(2);
    return rb_done();
}
