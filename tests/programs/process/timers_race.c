/* A write behind the setting of a timer. */
#include "../order.h"
#include <signal.h>
#include <sys/time.h>
#include <time.h>

sigset_t set;
timer_t timer;
int data, other, third;

static void setter(void)
{
    const struct itimerspec soon = {.it_value = {0, 2000000}};
    const struct itimerval too = {.it_value = {0, 2000}};

    data = 1;
    RB_CHECK(timer_settime(timer, 0, &soon, NULL) == 0);
    rb_await(1);
    other = 1;
    RB_CHECK(setitimer(ITIMER_REAL, &too, NULL) == 0);
    rb_await(2);
    ualarm(2000, 0);
    third = 1; /* RACE 1 */
    rb_reach(3);
}

static void taker(void)
{
    siginfo_t info;
    int number;

    RB_CHECK(sigwaitinfo(&set, &info) == SIGUSR1);
    data = 2;
    rb_reach(1);
    RB_CHECK(sigwait(&set, &number) == 0 && number == SIGALRM);
    other = 2;
    rb_reach(2);
    RB_CHECK(sigwait(&set, &number) == 0 && number == SIGALRM);
    rb_await(3);
    third = 2; /* RACE 2 */
}

int main(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    RB_CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    return rb_both(setter, taker);
}
