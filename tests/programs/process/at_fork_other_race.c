/* A handler of pthread_atfork is not ordered with what was done after it was registered. */
#include "../order.h"
#include <sys/wait.h>

int data;

static void prepare(void)
{
    data = 2; /* RACE 2 */
}

static void first(void)
{
    RB_CHECK(pthread_atfork(prepare, NULL, NULL) == 0);
    data = 1; /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    const pid_t child = fork();
    if (child == 0)
        _exit(0);
    RB_CHECK(waitpid(child, NULL, 0) == child);
}

int main(void)
{
    return rb_both(first, second);
}
