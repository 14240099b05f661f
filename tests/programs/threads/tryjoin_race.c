/* pthread_tryjoin_np that finds the thread busy makes no edge. */
#define _GNU_SOURCE
#include "../order.h"
#include <errno.h>

int data;

static void child(void)
{
    data = 1; /* RACE 1 */
    rb_reach(1);
    rb_await(2);
}

int main(void)
{
    pthread_t thread = rb_start(child);

    rb_await(1);
    RB_CHECK(pthread_tryjoin_np(thread, NULL) == EBUSY);
    data = 2; /* RACE 2 */
    rb_reach(2);
    pthread_join(thread, NULL);
    return rb_done();
}
