/* Hundreds of threads, one after the other; nobody joins the last before its data is used. */
#include "../order.h"

enum { THREADS = 300 };
int data;

static void child(void)
{
    data++;
}

static void last(void)
{
    data++; /* RACE 1 */
    rb_reach(1);
}

int main(void)
{
    pthread_t thread;

    for (int i = 0; i < THREADS; i++)
        pthread_join(rb_start(child), NULL);
    thread = rb_start(last);
    rb_await(1);
    data++; /* RACE 2 */
    pthread_join(thread, NULL);
    return rb_done();
}
