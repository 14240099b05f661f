/* Used after the thread has done its work, but before it is joined. */
#include "../order.h"

int data;

static void child(void)
{
    data = 1; /* RACE 1 */
    rb_reach(1);
}

int main(void)
{
    pthread_t thread = rb_start(child);

    rb_await(1);
    data = 2; /* RACE 2 */
    pthread_join(thread, NULL);
    return rb_done();
}
