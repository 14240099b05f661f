/* A signal that is seen to be pending was sent before, and the time that is left of an alarm was set before.
 */
#include "../order.h"
#include <signal.h>

int RB_APART data, RB_APART other;

static void first(void)
{
    data = 1;
    RB_CHECK(kill(getpid(), SIGUSR2) == 0);
    other = 1;
    alarm(100);
    rb_reach(1);
}

static void second(void)
{
    sigset_t set;

    rb_await(1);
    RB_CHECK(sigpending(&set) == 0 && sigismember(&set, SIGUSR2));
    data = 2;
    RB_CHECK(alarm(0) > 0);
    other = 2;
}

int main(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    RB_CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
    return rb_both(first, second);
}
