/* Order that comes by way of children that were given no descriptor: a name that one makes, a semaphore that
 * one raises, a signal to one and its end. */
#define _GNU_SOURCE 1
#include "../order.h"
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/wait.h>

char folder[] = "/tmp/railbird-children-XXXXXX", name[64];
int RB_APART data, RB_APART other, RB_APART last;
int set;
pid_t child;

static void in_child(void (*body)(void))
{
    const pid_t one = fork();

    RB_CHECK(one >= 0);
    if (one == 0) {
        body();
        _exit(0);
    }
}

static void make_name(void)
{
    mkdir(name, 0700);
}

static void raise_semaphore(void)
{
    struct sembuf up = {0, 1, 0};

    semop(set, &up, 1);
}

static void sleep_on(void)
{
    for (;;)
        pause();
}

static void first(void)
{
    data = 1;
    in_child(make_name);
    rb_await(1);
    other = 1;
    in_child(raise_semaphore);
    rb_await(2);
    const int fd = pidfd_open(child, 0);
    RB_CHECK(fd >= 0);
    last = 1;
    RB_CHECK(pidfd_send_signal(fd, SIGKILL, NULL, 0) == 0);
}

static void second(void)
{
    struct sembuf down = {0, -1, 0};

    while (access(name, F_OK))
        usleep(500);
    data = 2;
    rb_reach(1);
    RB_CHECK(semop(set, &down, 1) == 0);
    other = 2;
    rb_reach(2);
    RB_CHECK(waitpid(child, NULL, 0) == child);
    last = 2;
}

int main(void)
{
    RB_CHECK(mkdtemp(folder) != NULL);
    snprintf(name, sizeof(name), "%s/a", folder);
    set = semget(IPC_PRIVATE, 1, 0600);
    RB_CHECK(set >= 0);
    child = fork();
    if (child == 0)
        sleep_on();
    pthread_t a = rb_start(first), b = rb_start(second);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    semctl(set, 0, IPC_RMID);
    rmdir(name);
    rmdir(folder);
    return rb_done();
}
