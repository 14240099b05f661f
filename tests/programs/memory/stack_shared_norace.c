/* A local variable of one thread, written by another thread that is joined before its owner writes. */
#include "../order.h"

static void *child(void *argument)
{
    *(int *)argument = 1;
    rb_reach(1);
    return NULL;
}

int main(void)
{
    int local = 0;
    pthread_t thread;

    pthread_create(&thread, NULL, child, &local);
    rb_await(1);
    rb_escape(&local);
    pthread_join(thread, NULL);
    local = 2;
    rb_escape(&local);
    return rb_done();
}
