/* A thread ends by pthread_exit from a function deep inside, and is joined. */
#include "../order.h"

int data;

__attribute__((noinline)) static void leave(int depth)
{
    if (depth > 0)
        leave(depth - 1);
    data = 1;
    rb_reach(1);
    pthread_exit(&data);
}

static void child(void)
{
    leave(3);
}

int main(void)
{
    pthread_t thread = rb_start(child);
    void *result;

    rb_await(1);
    pthread_join(thread, &result);
    RB_CHECK(result == &data);
    data = 2;
    return rb_done();
}
