/*
 * Where wait puts a child's status is written by the call, here under a mutex. A call that finds no child
 * writes nothing.
 */
#include <sys/wait.h>

#include "../order.h"

RB_APART static int status, untouched;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void waiter(void)
{
    const pid_t child = fork();

    if (child == 0)
        _exit(0);
    pthread_mutex_lock(&mutex);
    RB_CHECK(waitpid(child, &status, 0) == child);
    pthread_mutex_unlock(&mutex);
    RB_CHECK(waitpid(child, &untouched, 0) < 0);
    rb_reach(1);
}

static void other(void)
{
    rb_await(1);
    pthread_mutex_lock(&mutex);
    status = 1;
    pthread_mutex_unlock(&mutex);
    untouched = 1;
}

int main(void)
{
    return rb_both(waiter, other);
}
