/* A handler of at_quick_exit is ordered after what its thread did before it was registered. */
#include "../order.h"

int data;

static void handler(void)
{
    data = 2;
}

static void child(void)
{
    data = 1;
    at_quick_exit(handler);
    rb_reach(1);
}

int main(void)
{
    pthread_detach(rb_start(child));
    rb_await(1);
    quick_exit(rb_done());
}
