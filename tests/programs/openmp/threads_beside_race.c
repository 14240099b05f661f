/* A thread of the program's own and a team: the team is not ordered with the thread. */
#include "../order.h"
#include <omp.h>

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void first(void)
{
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1) {
        data = 1; /* RACE 1 */
        rb_reach(1);
        rb_await(2); /* so that the other team does not get this thread */
    }
}

static void second(void)
{
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1) {
        rb_await(1);
        pthread_mutex_lock(&mutex);
        data = 2; /* RACE 2 */
        pthread_mutex_unlock(&mutex);
        rb_reach(2);
    }
}

int main(void)
{
    return rb_both(first, second);
}
