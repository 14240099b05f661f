/* Who sees that something is in a queue, or how far a stream is, comes after who put it there. */
#include "../order.h"
#include <fcntl.h>
#include <mqueue.h>
#include <sched.h>

struct {
    int x RB_APART;
} data[2];
static mqd_t queue;
static FILE *stream;

static void set_up(void)
{
    struct mq_attr like = {.mq_maxmsg = 4, .mq_msgsize = 16};
    char name[64];

    snprintf(name, sizeof(name), "/state_seen_%d", (int)getpid());
    queue = mq_open(name, O_RDWR | O_CREAT, 0600, &like);
    stream = tmpfile();
    RB_CHECK(queue >= 0 && stream && mq_unlink(name) == 0);
}

static void first(void)
{
    data[0].x = 1;
    RB_CHECK(fputs("x", stream) >= 0);
    data[1].x = 1;
    RB_CHECK(mq_send(queue, "x", 1, 0) == 0);
    rb_reach(1);
}

static void second(void)
{
    while (ftell(stream) == 0)
        sched_yield();
    data[0].x = 2;
    struct mq_attr now;
    do
        RB_CHECK(mq_getattr(queue, &now) == 0);
    while (now.mq_curmsgs == 0);
    rb_await(1);
    data[1].x = 2;
}

int main(void)
{
    set_up();
    pthread_t a = rb_start(first), b = rb_start(second);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return rb_done();
}
