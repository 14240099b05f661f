/* A write behind the signal that ends a child, another behind waiting for it. */
#include "../order.h"
#include <signal.h>
#include <sys/wait.h>

int to[2], from[2], data, other;
pid_t child;

static void first(void)
{
    char byte = 'x';

    data = 1;
    RB_CHECK(write(to[1], &byte, 1) == 1);
    rb_await(1);
    kill(child, SIGTERM);
    other = 1; /* RACE 1 */
    rb_reach(2);
}

static void second(void)
{
    char byte;

    RB_CHECK(read(from[0], &byte, 1) == 1);
    data = 2;
    rb_reach(1);
    RB_CHECK(waitpid(child, NULL, 0) == child);
    rb_await(2);
    other = 2; /* RACE 2 */
}

int main(void)
{
    char byte;

    RB_CHECK(pipe(to) == 0 && pipe(from) == 0);
    child = fork();
    if (child == 0) {
        if (read(to[0], &byte, 1) == 1 && write(from[1], &byte, 1) == 1)
            for (;;)
                pause();
        _exit(1);
    }
    return rb_both(first, second);
}
