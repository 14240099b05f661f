/* A thread is cancelled in the midst of accesses; another writes to the same memory before that. */
#include "../order.h"

RB_APART long data;
RB_APART long others[64];

static void child(void)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    data = 1; /* RACE 1 */
    rb_reach(1);
    for (;;)
        for (int i = 0; i < 64; i++)
            others[i]++;
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
