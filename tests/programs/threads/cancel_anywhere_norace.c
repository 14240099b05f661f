/* Threads are cancelled in the midst of accesses, one after the other; what they wrote is used after they
 * were joined. */
#include "../order.h"

#define TIMES 40

long data[64];
static int turn;

static void child(void)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    rb_reach(turn);
    for (;;)
        for (int i = 0; i < 64; i++)
            data[i]++;
}

int main(void)
{
    void *result;

    for (turn = 1; turn <= TIMES; turn++) {
        pthread_t thread = rb_start(child);
        rb_await(turn);
        usleep(100);
        pthread_cancel(thread);
        RB_CHECK(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
        data[turn]++;
    }
    return rb_done();
}
