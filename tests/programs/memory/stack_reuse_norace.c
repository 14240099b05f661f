/* A detached thread ends, and the next one has its stack: new memory, though nothing orders the two. */
#include "../order.h"

enum { SIZE = 16384, THREADS = 5 };
char *shared;

static void child(void)
{
    char array[SIZE], *local = array;

    rb_forget(local);
    for (int i = 0; i < SIZE; i += 16)
        local[i] = 1;
}

int main(void)
{
    for (int i = 0; i < THREADS; i++) {
        pthread_detach(rb_start(child));
        usleep(10000); /* it has ended by now */
    }
    return rb_done();
}
