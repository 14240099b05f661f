/*
 * An over-aligned object, written by two threads that nothing orders.
 * build: -std=c++17
 */
#include "../order.h"
#include <new>

struct alignas(64) object {
    long values[8];
};
object *shared;

static void child()
{
    shared->values[3] = 1; /* RACE 1 */
    rb_escape(shared);
    rb_reach(1);
}

int main()
{
    object *mine = shared = new object;
    pthread_t thread = rb_start(child);

    rb_await(1);
    mine->values[3] = 2; /* RACE 2 */
    rb_escape(mine);
    pthread_join(thread, NULL);
    delete mine;
    return rb_done();
}
