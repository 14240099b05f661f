/* A thread's local variable, shared with the thread that created it. */
#include "../order.h"

enum { SIZE = 16384, THREADS = 5 };
char *shared;

static void child(void)
{
    char array[SIZE], *local = array;

    rb_forget(local);
    for (int i = 0; i < SIZE; i += 16)
        local[i] = 1; /* RACE 1 */
    rb_put(&shared, local);
    rb_reach(1);
    rb_await(2);
}

int main(void)
{
    char *seen;
    pthread_t thread = rb_start(child);

    rb_await(1);
    seen = rb_get(&shared);
    seen[SIZE / 2] = 2; /* RACE 2 */
    rb_reach(2);
    pthread_join(thread, NULL);
    return rb_done();
}
