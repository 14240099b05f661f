/* Handlers that were not asked for by sigaction; what the sender does after the signal is not ordered with
 * them. */
#define _GNU_SOURCE
#include "../order.h"
#include <signal.h>

extern sighandler_t __sysv_signal(int number, sighandler_t handler);
RB_APART int data, more;
static pthread_t waiter;

static void once(int number)
{
    (void)number;
    rb_await(2);
    data = 2; /* RACE 2 */
    rb_reach(3);
}

static void again(int number)
{
    (void)number;
    rb_await(5);
    more = 2; /* RACE 4 */
    rb_reach(6);
}

static void first(void)
{
    rb_await(1);
    pthread_kill(waiter, SIGUSR1);
    data = 1; /* RACE 1 */
    rb_reach(2);
    rb_await(4);
    pthread_kill(waiter, SIGUSR1);
    more = 1; /* RACE 3 */
    rb_reach(5);
}

static void second(void)
{
    __sysv_signal(SIGUSR1, once);
    rb_reach(1);
    rb_await_signals(3);
    sigset(SIGUSR1, again);
    rb_reach(4);
    rb_await_signals(6);
}

int main(void)
{
    waiter = pthread_self();
    pthread_t thread = rb_start(first);
    second();
    pthread_join(thread, NULL);
    return rb_done();
}
