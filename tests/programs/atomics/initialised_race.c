/* An atomic is initialised by a plain write after the thread that uses it was created. */
#include "../order.h"

int counter;

static void user(void)
{
    rb_await(1);
    __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED); /* RACE 2 */
}

int main(void)
{
    pthread_t thread;

    thread = rb_start(user);
    counter = 5; /* RACE 1 */
    rb_reach(1);
    pthread_join(thread, NULL);
    return rb_done();
}
