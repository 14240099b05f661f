/* Signals of a descriptor that has something, and by a process's descriptor; what is done after they were
 * caused is not ordered with their handlers.
 */
#define _GNU_SOURCE
#include "../order.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>

extern int pidfd_send_signal(int fd, int number, siginfo_t *info, unsigned flags);
RB_APART int data, more;
static int pair[2];

static void by_pipe(int number)
{
    (void)number;
    rb_await(1);
    data = 2; /* RACE 2 */
    signal(SIGIO, SIG_IGN);
    rb_reach(2);
}

static void by_process(int number)
{
    (void)number;
    rb_await(3);
    more = 2; /* RACE 4 */
    rb_reach(4);
}

static void first(void)
{
    RB_CHECK(write(pair[1], "x", 1) == 1);
    data = 1; /* RACE 1 */
    rb_reach(1);
    rb_await(2);
    const int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (fd < 0 || pidfd_send_signal(fd, SIGUSR1, NULL, 0))
        kill(getpid(), SIGUSR1);
    more = 1; /* RACE 3 */
    rb_reach(3);
}

int main(void)
{
    sigset_t all;

    signal(SIGIO, by_pipe);
    signal(SIGUSR1, by_process);
    RB_CHECK(pipe(pair) == 0);
    fcntl(pair[0], F_SETOWN, getpid());
    fcntl(pair[0], F_SETFL, O_ASYNC | O_NONBLOCK);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL); /* this thread alone will take them */
    pthread_t thread = rb_start(first);
    sigemptyset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    rb_await_signals(4);
    pthread_join(thread, NULL);
    return rb_done();
}
