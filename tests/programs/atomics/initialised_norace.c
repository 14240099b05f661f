/* An atomic is initialised by a plain write before the thread that uses it is created. */
#include "../order.h"

int counter;

static void user(void)
{
    rb_await(1);
    __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
}

int main(void)
{
    pthread_t thread;

    counter = 5;
    thread = rb_start(user);
    rb_reach(1);
    pthread_join(thread, NULL);
    return rb_done();
}
