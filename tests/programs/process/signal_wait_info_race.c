/* sigtimedwait that runs out of time makes no edge. */
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
    rb_await(2);
    span.tv_sec = 0;
    RB_CHECK(sigtimedwait(&usr1, &info, &span) == -1);
    timed = 2; /* RACE 2 */
    rb_reach(3);
    rb_await(4);
    waited = 2; /* RACE 4 */
}

int main(void)
{
    pthread_t thread;

    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &usr1, NULL);
    thread = rb_start(child);
    rb_await(1);
    timed = 1; /* RACE 1 */
    rb_reach(2);
    rb_await(3);
    waited = 1; /* RACE 3 */
    rb_reach(4);
    pthread_join(thread, NULL);
    return rb_done();
}
