/* A detached thread ends, and the next one has its thread-local variables' place: new memory. */
#include "../order.h"

enum { THREADS = 5 };
_Thread_local long local[100];
long *shared;

static void child(void)
{
    for (int i = 0; i < 100; i++)
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
