/* Signals that nobody sends by kill: of a descriptor that has something, of a message queue, of work that is
 * done, by a process's descriptor. Their handlers come after what caused them.
 */
#define _GNU_SOURCE
#include "../order.h"
#include <aio.h>
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

#define WAYS 4

extern int pidfd_send_signal(int fd, int number, siginfo_t *info, unsigned flags);
RB_APART int data[4 * WAYS];
static int pair[2];
static mqd_t queue;
static struct aiocb work;
static volatile int way;

static void handler(int number)
{
    (void)number;
    data[4 * way] = 2;
    rb_reach(2 * way + 2);
}

/* Each returns whether the system has it. */
static int by_pipe(void)
{
    return write(pair[1], "x", 1) == 1;
}

static int by_queue(void)
{
    return queue == (mqd_t)-1 ? 0 : mq_send(queue, "x", 1, 0) == 0;
}

static int by_work(void)
{
    work = (struct aiocb){.aio_fildes = pair[1], .aio_buf = "x", .aio_nbytes = 1};
    work.aio_sigevent.sigev_notify = SIGEV_SIGNAL;
    work.aio_sigevent.sigev_signo = SIGUSR1;
    return aio_write(&work) == 0;
}

static int by_process(void)
{
    const int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

    return fd >= 0 && pidfd_send_signal(fd, SIGUSR2, NULL, 0) == 0;
}

static int (*const ways[WAYS])(void) = {by_pipe, by_queue, by_work, by_process};

static void first(void)
{
    for (int i = 0; i < WAYS; i++) {
        rb_await(2 * i + 1);
        data[4 * i] = 1;
        if (!ways[i]())
            rb_reach(2 * i + 2);
    }
}

static void set_up(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2};
    struct mq_attr attribute = {.mq_maxmsg = 1, .mq_msgsize = 8};
    char name[64];

    RB_CHECK(pipe(pair) == 0);
    fcntl(pair[0], F_SETOWN, getpid());
    fcntl(pair[0], F_SETFL, O_ASYNC | O_NONBLOCK);
    snprintf(name, sizeof(name), "/railbird.%d", (int)getpid());
    queue = mq_open(name, O_CREAT | O_RDWR, 0600, &attribute);
    mq_unlink(name);
    if (queue != (mqd_t)-1)
        RB_CHECK(mq_notify(queue, &event) == 0);
}

int main(void)
{
    struct sigaction action = {.sa_handler = handler};
    sigset_t all;

    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    sigaction(SIGIO, &action, NULL);
    set_up();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL); /* this thread alone will take them */
    pthread_t thread = rb_start(first);
    sigemptyset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    for (int i = 0; i < WAYS; i++) {
        way = i;
        rb_reach(2 * i + 1);
        rb_await_signals(2 * i + 2);
        if (i == 0) {
            fcntl(pair[0], F_SETFL, O_NONBLOCK);
            signal(SIGIO, SIG_IGN);
        }
    }
    pthread_join(thread, NULL);
    return rb_done();
}
