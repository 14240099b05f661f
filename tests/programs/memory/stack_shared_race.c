/* A local variable of one thread, written by its owner and by another thread. */
#include "../order.h"

static void *child(void *argument)
{
    *(int *)argument = 1; /* RACE 1 */
    rb_reach(1);
    return NULL;
}

int main(void)
{
    int local = 0;
    pthread_t thread;

    pthread_create(&thread, NULL, child, &local);
    rb_await(1);
    local = 2; /* RACE 2 */
    rb_escape(&local);
    pthread_join(thread, NULL);
    rb_escape(&local);
    return rb_done();
}
