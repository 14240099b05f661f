/* A thread joins its own thread: joining the first orders what both did. */
#include "../order.h"

int data;
pthread_t inner;

static void grandchild(void)
{
    data = 1;
    rb_reach(1);
}

static void child(void)
{
    inner = rb_start(grandchild);
    rb_await(1);
    pthread_join(inner, NULL);
}

int main(void)
{
    pthread_join(rb_start(child), NULL);
    data = 2;
    return rb_done();
}
