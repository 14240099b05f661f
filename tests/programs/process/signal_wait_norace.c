/* Written before pthread_kill: sigwait returns because of it, and is ordered after it. */
#include "../order.h"
#include <signal.h>

int data;
sigset_t usr1;

static void child(void)
{
    int number;

    rb_reach(1);
    RB_CHECK(sigwait(&usr1, &number) == 0 && number == SIGUSR1);
    data = 2;
}

int main(void)
{
    pthread_t thread;

    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &usr1, NULL);
    thread = rb_start(child);
    rb_await(1);
    data = 1;
    pthread_kill(thread, SIGUSR1);
    pthread_join(thread, NULL);
    return rb_done();
}
