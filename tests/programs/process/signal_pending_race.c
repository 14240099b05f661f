/* Writes behind a signal that is seen to be pending, and behind setting an alarm. */
#include "../order.h"
#include <signal.h>

int RB_APART data, RB_APART other;

static void first(void)
{
    RB_CHECK(kill(getpid(), SIGUSR2) == 0);
    data = 1; /* RACE 1 */
    rb_reach(1);
    rb_await(2);
    alarm(100);
    other = 1; /* RACE 3 */
    rb_reach(3);
}

static void second(void)
{
    sigset_t set;

    rb_await(1);
    RB_CHECK(sigpending(&set) == 0 && sigismember(&set, SIGUSR2));
    data = 2; /* RACE 2 */
    rb_reach(2);
    rb_await(3);
    RB_CHECK(alarm(0) > 0);
    other = 2; /* RACE 4 */
}

int main(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    RB_CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
    return rb_both(first, second);
}
