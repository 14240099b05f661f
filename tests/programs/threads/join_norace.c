/* Used after the thread was joined. */
#include "../order.h"

int data;

static void child(void)
{
    data = 1;
    rb_reach(1);
}

int main(void)
{
    pthread_t thread = rb_start(child);

    rb_await(1);
    pthread_join(thread, NULL);
    data = 2;
    return rb_done();
}
