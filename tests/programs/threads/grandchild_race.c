/* A thread's thread is not ordered before the join of the thread alone. */
#include "../order.h"

int data;
pthread_t inner;

static void grandchild(void)
{
    data = 1; /* RACE 1 */
    rb_reach(1);
}

static void child(void)
{
    inner = rb_start(grandchild);
    rb_await(1);
}

int main(void)
{
    pthread_join(rb_start(child), NULL);
    data = 2; /* RACE 2 */
    pthread_join(inner, NULL);
    return rb_done();
}
