/* A thread is cancelled in the midst of computing; what it wrote is used after it was joined. */
#include "../order.h"

int data;

static void child(void)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    data = 1;
    rb_reach(1);
    for (;;)
        __asm__ volatile("pause");
}

int main(void)
{
    pthread_t thread = rb_start(child);

    rb_await(1);
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    data = 2;
    return rb_done();
}
