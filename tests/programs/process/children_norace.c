/* Order that comes by way of a child: a signal that ends it and wait, its own signal, two pipes. */
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
    other = 1;
    kill(child, SIGTERM);
}

static void second(void)
{
    char byte;

    RB_CHECK(read(from[0], &byte, 1) == 1);
    data = 2;
    rb_reach(1);
    RB_CHECK(waitpid(child, NULL, 0) == child);
    other = 2;
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
