/* A thread-local variable of a thread that still runs, written by the one that created it. */
#include "../order.h"

enum { THREADS = 5 };
_Thread_local long local[100];
long *shared;

static void child(void)
{
    for (int i = 0; i < 100; i++)
        local[i] = 1; /* RACE 1 */
    rb_put(&shared, local);
    rb_reach(1);
    rb_await(2);
}

int main(void)
{
    long *seen;
    pthread_t thread = rb_start(child);

    rb_await(1);
    seen = rb_get(&shared);
    seen[50] = 2; /* RACE 2 */
    rb_reach(2);
    pthread_join(thread, NULL);
    return rb_done();
}
