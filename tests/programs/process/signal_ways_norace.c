/* Handlers that were not asked for by sigaction run after what happened before the signal was sent. Each way
 * keeps its manners: what it returns, whether the handler stays, whether system calls go on. */
#define _GNU_SOURCE
#include "../order.h"
#include <errno.h>
#include <signal.h>

#define WAYS 5

extern sighandler_t __sysv_signal(int number, sighandler_t handler);
static sighandler_t (*const ways[WAYS])(int, sighandler_t) = {__sysv_signal, sysv_signal, ssignal, sigset,
                                                              signal};
int data[WAYS], pair[2];
static volatile int way;
static pthread_t waiter;

static void handler(int number)
{
    (void)number;
    data[way] = 2;
    rb_reach(2 * way + 2);
}

static void other(int number)
{
    (void)number;
}

/* The signal ends a read, as siginterrupt has said. */
static void interrupted(void)
{
    char byte;

    RB_CHECK(siginterrupt(SIGUSR1, 1) == 0 && signal(SIGUSR1, other) == handler);
    rb_reach(2 * WAYS + 1);
    RB_CHECK(read(pair[0], &byte, 1) == -1 && errno == EINTR);
    rb_reach(2 * WAYS + 2);
}

static void first(void)
{
    for (int i = 0; i < WAYS; i++) {
        rb_await(2 * i + 1);
        data[i] = 1;
        pthread_kill(waiter, SIGUSR1);
    }
    rb_await(2 * WAYS + 1);
    while (!rb_at(2 * WAYS + 2)) {
        usleep(1000);
        pthread_kill(waiter, SIGUSR1);
    }
}

static void second(void)
{
    struct sigaction now;

    for (int i = 0; i < WAYS; i++) {
        way = i;
        const sighandler_t before = ways[i](SIGUSR1, handler);
        RB_CHECK(before == (i < 3 ? SIG_DFL : handler));
        rb_reach(2 * i + 1);
        rb_await_signals(2 * i + 2);
        RB_CHECK(sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == (i < 2 ? SIG_DFL : handler));
    }
    interrupted();
    RB_CHECK(sigset(SIGUSR2, other) == SIG_DFL && sigset(SIGUSR2, SIG_HOLD) == other);
    RB_CHECK(sigset(SIGUSR2, SIG_HOLD) == SIG_HOLD && sigset(SIGUSR2, handler) == SIG_HOLD);
    RB_CHECK(sigignore(SIGUSR2) == 0 && raise(SIGUSR2) == 0 && sigset(SIGUSR2, other) == SIG_IGN);
}

int main(void)
{
    RB_CHECK(pipe(pair) == 0);
    waiter = pthread_self();
    pthread_t thread = rb_start(first);
    second();
    pthread_join(thread, NULL);
    return rb_done();
}
