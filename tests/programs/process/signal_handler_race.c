/* A handler interrupts a thread and writes what another thread has written. */
#include "../order.h"
#include <signal.h>

int data;

static void handler(int number)
{
    (void)number;
    data = 2; /* RACE 2 */
    rb_reach(2);
}

static void first(void)
{
    data = 1; /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    raise(SIGUSR1);
    rb_await_signals(2);
}

int main(void)
{
    signal(SIGUSR1, handler);
    return rb_both(first, second);
}
