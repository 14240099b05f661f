/* Cancelled in pthread_cond_wait, the cleanup handler writes after it has given the mutex back. */
#include "../order.h"

int data, never;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void clean(void *argument)
{
    (void)argument;
    pthread_mutex_unlock(&mutex);
    data = 1; /* RACE 1 */
    rb_reach(2);
}

static void child(void)
{
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(clean, NULL);
    rb_reach(1);
    while (!never)
        pthread_cond_wait(&condition, &mutex);
    pthread_cleanup_pop(1);
}

int main(void)
{
    pthread_t thread = rb_start(child);

    rb_await(1);
    pthread_cancel(thread);
    rb_await(2);
    pthread_mutex_lock(&mutex);
    data = 2; /* RACE 2 */
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
    return rb_done();
}
