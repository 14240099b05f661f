/* A detached thread's end is ordered before nothing. */
#include "../order.h"

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void child(void)
{
    data = 1; /* RACE 1 */
    rb_reach(1);
}

int main(void)
{
    pthread_detach(rb_start(child));
    rb_await(1);
    pthread_mutex_lock(&mutex);
    data = 2; /* RACE 2 */
    pthread_mutex_unlock(&mutex);
    return rb_done();
}
