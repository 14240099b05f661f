/*
 * Hundreds of threads, one after the other: whoever comes into the place of an older one is joined as well.
 */
#include "../order.h"

enum { THREADS = 300 };
int data;

static void child(void)
{
    data++;
}

static void last(void)
{
    data++;
    rb_reach(1);
}

int main(void)
{
    pthread_t thread;

    for (int i = 0; i < THREADS; i++)
        pthread_join(rb_start(child), NULL);
    thread = rb_start(last);
    rb_await(1);
    pthread_join(thread, NULL);
    data++;
    return rb_done();
}
