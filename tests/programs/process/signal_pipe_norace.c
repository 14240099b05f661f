/* A pipe's reading end is closed: the handler of who writes then runs after what was done before. */
#include "../order.h"
#include <signal.h>

int data, pair[2];

static void handler(int number)
{
    (void)number;
    data = 2;
}

static void first(void)
{
    data = 1;
    close(pair[0]);
    rb_reach(1);
}

static void second(void)
{
    char byte = 'x';

    rb_await(1);
    RB_CHECK(write(pair[1], &byte, 1) == -1);
}

int main(void)
{
    RB_CHECK(pipe(pair) == 0);
    signal(SIGPIPE, handler);
    return rb_both(first, second);
}
