/* A pipe's reading end is closed; what is done after that is not ordered with the handler of who writes. */
#include "../order.h"
#include <signal.h>

int data, pair[2];

static void handler(int number)
{
    (void)number;
    data = 2; /* RACE 2 */
}

static void first(void)
{
    close(pair[0]);
    data = 1; /* RACE 1 */
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
