/* Written behind sigqueue: not ordered before the handler. */
#include "../order.h"
#include <signal.h>

int data;
sigset_t usr1;

static void handler(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    RB_CHECK(info->si_value.sival_int == 7);
    rb_await(3);
    rb_use(data); /* RACE 2 */
    rb_reach(4);
}

static void child(void)
{
    pthread_sigmask(SIG_UNBLOCK, &usr1, NULL); /* nobody else takes it */
    rb_reach(1);
    rb_await_signals(4);
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    union sigval value = {.sival_int = 7};
    pthread_t thread;

    sigaction(SIGUSR1, &action, NULL);
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &usr1, NULL);
    thread = rb_start(child);
    rb_await(1);
    sigqueue(getpid(), SIGUSR1, value);
    data = 1; /* RACE 1 */
    rb_reach(3);
    pthread_join(thread, NULL);
    return rb_done();
}
