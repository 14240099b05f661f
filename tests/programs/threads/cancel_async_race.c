/* A thread is cancelled in the midst of computing; what it wrote is used before it is joined. */
#include "../order.h"

int data;

static void child(void)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    data = 1; /* RACE 1 */
    rb_reach(1);
    for (;;)
        __asm__ volatile("pause");
}

int main(void)
{
    pthread_t thread = rb_start(child);

    rb_await(1);
    data = 2; /* RACE 2 */
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    return rb_done();
}
