/*
 * Where wait puts a child's status is written by the call.
 */
#include <sys/wait.h>

#include "../order.h"

RB_APART static int status;

static void waiter(void)
{
    const pid_t child = fork();

    if (child == 0)
        _exit(0);
    RB_CHECK(waitpid(child, &status, 0) == child); /* RACE 1 */
    rb_reach(1);
}

static void other(void)
{
    rb_await(1);
    status = 1; /* RACE 2 */
}

int main(void)
{
    return rb_both(waiter, other);
}
