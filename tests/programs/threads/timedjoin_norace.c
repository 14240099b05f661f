/* pthread_timedjoin_np that succeeds is a join. */
#define _GNU_SOURCE
#include "../order.h"
#include <errno.h>
#include <time.h>

int data;

static void child(void)
{
    data = 1;
    rb_reach(1);
}

int main(void)
{
    pthread_t thread = rb_start(child);
    struct timespec until;

    rb_await(1);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 5;
    RB_CHECK(pthread_timedjoin_np(thread, NULL, &until) == 0);
    data = 2;
    return rb_done();
}
