/* Handlers of pthread_atfork hold the program's mutex across fork. */
#include "../order.h"
#include <sys/wait.h>

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void prepare(void)
{
    pthread_mutex_lock(&mutex);
    data = 2;
}

static void release(void)
{
    pthread_mutex_unlock(&mutex);
}

static void child(void)
{
    pthread_mutex_lock(&mutex);
    data = 1;
    pthread_mutex_unlock(&mutex);
    rb_reach(1);
}

int main(void)
{
    pthread_t thread;
    int status;
    pid_t other;

    pthread_atfork(prepare, release, release);
    thread = rb_start(child);
    rb_await(1);
    other = fork();
    if (other == 0) {
        pthread_mutex_lock(&mutex); /* it is free: the handler gave it back */
        _exit(0);
    }
    RB_CHECK(waitpid(other, &status, 0) == other && WIFEXITED(status));
    pthread_join(thread, NULL);
    return rb_done();
}
