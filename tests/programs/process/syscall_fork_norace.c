/*
 * Children by bare system calls (fork, vfork, clone, clone3) are processes of their own, as those of fork() are.
 * Another thread of their parent is in the middle of an operation meanwhile, and writes what they write.
 */
#include "../order.h"
#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

RB_APART int data;
RB_APART int everybodys;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long counter;

static long make(int way)
{
    struct clone_args args = {.exit_signal = SIGCHLD};

    switch (way) {
    case 0:
        return syscall(SYS_fork);
    case 1:
        return syscall(SYS_vfork);
    case 2:
        return syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);
    default:
        return syscall(SYS_clone3, &args, sizeof(args));
    }
}

static void child(void)
{
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&mutex);
        __atomic_fetch_add(&counter, 1, __ATOMIC_SEQ_CST);
        pthread_mutex_unlock(&mutex);
        everybodys = 7;
    }
    _exit(everybodys);
}

static void first(void)
{
    int status;

    pthread_mutex_lock(&mutex);
    data = 1;
    pthread_mutex_unlock(&mutex);
    rb_reach(1);
    for (int n = 0; n < 40; n++) {
        const long pid = make(n % 4);
        if (pid == 0)
            child();
        RB_CHECK(pid > 0 && waitpid((pid_t)pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7);
    }
    RB_CHECK(syscall(SYS_clone3, (void *)1, sizeof(struct clone_args)) == -1 && errno == EFAULT);
    rb_reach(2);
}

static void second(void)
{
    rb_await(1);
    while (!rb_at(2)) {
        __atomic_fetch_add(&counter, 1, __ATOMIC_SEQ_CST);
        everybodys = 1;
        rb_escape(&everybodys);
    }
    pthread_mutex_lock(&mutex);
    data = 2;
    pthread_mutex_unlock(&mutex);
}

int main(void)
{
    return rb_both(first, second);
}
