/* pthread_tryjoin_np that finds the thread ended is a join. */
#define _GNU_SOURCE
#include "../order.h"
#include <errno.h>

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
    while (pthread_tryjoin_np(thread, NULL) == EBUSY)
        usleep(500);
    data = 2;
    return rb_done();
}
