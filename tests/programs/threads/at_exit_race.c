/* A handler registered with atexit is not ordered after what its thread did behind the registration. */
#include "../order.h"

int data;

static void handler(void)
{
    data = 2; /* RACE 2 */
}

static void child(void)
{
    atexit(handler);
    data = 1; /* RACE 1 */
    rb_reach(1);
}

int main(void)
{
    pthread_detach(rb_start(child));
    rb_await(1);
    return rb_done();
}
