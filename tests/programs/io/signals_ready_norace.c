/* A signalfd that is ready, for poll, select and epoll, comes after the signal that was sent. */
#include "../order.h"
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>

struct {
    int x RB_APART;
} data[3];
static int fds[3], events;

static void set_up(void)
{
    static const int numbers[] = {SIGUSR1, SIGUSR2, SIGHUP};
    sigset_t all, one;

    sigemptyset(&all);
    for (int i = 0; i < 3; i++)
        sigaddset(&all, numbers[i]);
    RB_CHECK(pthread_sigmask(SIG_BLOCK, &all, NULL) == 0);
    for (int i = 0; i < 3; i++) {
        sigemptyset(&one);
        sigaddset(&one, numbers[i]);
        fds[i] = signalfd(-1, &one, 0);
        RB_CHECK(fds[i] >= 0);
    }
    struct epoll_event event = {.events = EPOLLIN};
    events = epoll_create1(0);
    RB_CHECK(epoll_ctl(events, EPOLL_CTL_ADD, fds[2], &event) == 0);
}

static void first(void)
{
    data[0].x = 1;
    RB_CHECK(kill(getpid(), SIGUSR1) == 0);
    data[1].x = 1;
    RB_CHECK(kill(getpid(), SIGUSR2) == 0);
    data[2].x = 1;
    RB_CHECK(kill(getpid(), SIGHUP) == 0);
    rb_reach(1);
}

static void second(void)
{
    struct pollfd p = {fds[0], POLLIN, 0};
    RB_CHECK(poll(&p, 1, -1) == 1);
    data[0].x = 2;
    fd_set set;
    FD_ZERO(&set);
    FD_SET(fds[1], &set);
    RB_CHECK(select(fds[1] + 1, &set, NULL, NULL, NULL) == 1);
    data[1].x = 2;
    struct epoll_event event;
    RB_CHECK(epoll_wait(events, &event, 1, -1) == 1);
    rb_await(1);
    data[2].x = 2;
}

int main(void)
{
    set_up();
    pthread_t a = rb_start(first), b = rb_start(second);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return rb_done();
}
