/* A handler registered with atexit is ordered after what its thread did before the registration. */
#include "../order.h"

int data;

static void handler(void)
{
    data = 2;
}

static void child(void)
{
    data = 1;
    atexit(handler);
    rb_reach(1);
}

int main(void)
{
    pthread_detach(rb_start(child));
    rb_await(1);
    return rb_done();
}
