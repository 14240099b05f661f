/*
 * A child that a system call in inline assembly makes: nobody sees it begin, and it is no parallel of its parent's threads.
 * They lock a mutex.
 */
#include "../order.h"
#include <sys/syscall.h>
#include <sys/wait.h>

int data;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

RB_UNSEEN long bare_fork(void)
{
    long number = SYS_fork;

    __asm__ volatile("syscall" : "+a"(number) : : "rcx", "r11", "memory");
    return number;
}

static void first(void)
{
    pthread_mutex_lock(&mutex);
    data = 1;
    pthread_mutex_unlock(&mutex);
    rb_reach(1);
    rb_await(2);
}

static void second(void)
{
    int status;

    rb_await(1);
    for (int n = 0; n < 10; n++) {
        const long pid = bare_fork();
        if (pid == 0) {
            data = 3;
            _exit(data);
        }
        RB_CHECK(pid > 0 && waitpid((pid_t)pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 3);
    }
    pthread_mutex_lock(&mutex);
    data = 2;
    pthread_mutex_unlock(&mutex);
    rb_reach(2);
}

int main(void)
{
    return rb_both(first, second);
}
