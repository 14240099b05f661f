/* A race in a forked child, which has threads of its own. */
#include "../order.h"
#include <sys/wait.h>

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void first(void)
{
    data = 1; /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    data = 2; /* RACE 2 */
}

int main(void)
{
    int status;
    pid_t child;

    pthread_mutex_lock(&mutex);
    data = 7;
    child = fork();
    pthread_mutex_unlock(&mutex);
    if (child == 0)
        return rb_both(first, second);
    RB_CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    RB_CHECK(data == 7);
    rb_done();
    exit(WEXITSTATUS(status)); /* the parent's verdict is the child's */
}
