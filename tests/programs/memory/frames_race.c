/*
 * A frame's local is written by a thread that is still at it when the owner's next call has the same place.
 */
#include "../order.h"

static pthread_t thread;

static void *child(void *argument)
{
    rb_await(1);
    *(long *)argument = 1; /* RACE 1 */
    rb_reach(2);
    return NULL;
}

__attribute__((noinline)) static void use(void)
{
    long local = 0;

    rb_escape(&local);
    pthread_create(&thread, NULL, child, &local);
    rb_reach(1);
    rb_await(2);
    local++; /* RACE 2 */
    rb_escape(&local);
    pthread_join(thread, NULL);
}

int main(void)
{
    use();
    return rb_done();
}
