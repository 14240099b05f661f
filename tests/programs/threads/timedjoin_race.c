/* pthread_timedjoin_np that runs out of time makes no edge. */
#define _GNU_SOURCE
#include "../order.h"
#include <errno.h>
#include <time.h>

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
    struct timespec until;

    rb_await(1);
    clock_gettime(CLOCK_REALTIME, &until);
    RB_CHECK(pthread_timedjoin_np(thread, NULL, &until) == ETIMEDOUT);
    data = 2; /* RACE 2 */
    rb_reach(2);
    pthread_join(thread, NULL);
    return rb_done();
}
