/* Written after the thread was created: nothing orders it with what the thread does. */
#include "../order.h"

int data;

static void child(void)
{
    rb_await(1);
    data = 2; /* RACE 2 */
}

int main(void)
{
    pthread_t thread;

    thread = rb_start(child);
    data = 1; /* RACE 1 */
    rb_reach(1);
    pthread_join(thread, NULL);
    return rb_done();
}
