/* A handler of at_quick_exit is not ordered with what its thread did after it was registered. */
#include "../order.h"

int data;

static void handler(void)
{
    data = 2; /* RACE 2 */
}

static void child(void)
{
    at_quick_exit(handler);
    data = 1; /* RACE 1 */
    rb_reach(1);
}

int main(void)
{
    pthread_detach(rb_start(child));
    rb_await(1);
    quick_exit(rb_done());
}
