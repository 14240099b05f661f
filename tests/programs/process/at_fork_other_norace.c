/* A handler of pthread_atfork runs, in whoever forks, after what was done before it was registered. */
#include "../order.h"
#include <sys/wait.h>

int data;

static void prepare(void)
{
    data = 2;
}

static void first(void)
{
    data = 1;
    RB_CHECK(pthread_atfork(prepare, NULL, NULL) == 0);
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
