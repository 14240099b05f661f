/* sigtimedwait and sigwaitinfo return because of a signal, and are ordered after its sending. */
#include "../order.h"
#include <signal.h>
#include <time.h>

RB_APART int timed, waited;
sigset_t usr1;

static void child(void)
{
    struct timespec span = {5, 0};
    siginfo_t info;

    rb_reach(1);
    RB_CHECK(sigtimedwait(&usr1, &info, &span) == SIGUSR1);
    timed = 2;
    rb_reach(3);
    RB_CHECK(sigwaitinfo(&usr1, &info) == SIGUSR1);
    waited = 2;
}

int main(void)
{
    pthread_t thread;

    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &usr1, NULL);
    thread = rb_start(child);
    rb_await(1);
    timed = 1;
    pthread_kill(thread, SIGUSR1);
    rb_await(3);
    waited = 1;
    pthread_kill(thread, SIGUSR1);
    pthread_join(thread, NULL);
    return rb_done();
}
