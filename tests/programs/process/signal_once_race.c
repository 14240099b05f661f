/* A handler with SA_RESETHAND asks for itself again; what it writes is another thread's. */
#define _GNU_SOURCE
#include "../order.h"
#include <signal.h>

int data;

static void handler(int number);

static void arm(void)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESETHAND};

    sigaction(SIGUSR1, &action, NULL);
}

static void handler(int number)
{
    (void)number;
    if (!rb_at(2)) {
        rb_reach(2);
        arm();
        return;
    }
    data = 2; /* RACE 2 */
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
    raise(SIGUSR1);
}

int main(void)
{
    arm();
    return rb_both(first, second);
}
