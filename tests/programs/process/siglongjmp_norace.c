/* A handler jumps out to the interrupted code; accesses under one mutex. */
#include "../order.h"
#include <setjmp.h>
#include <signal.h>

int data;
static _Thread_local sigjmp_buf back;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void handler(int number)
{
    (void)number;
    siglongjmp(back, 1);
}

static void jump(void)
{
    if (sigsetjmp(back, 1) == 0)
        raise(SIGUSR1);
    rb_escape(&back);
}

__attribute__((noinline)) static void write_it(int value)
{
    data = value;
    rb_escape(&data);
}

static void first(void)
{
    for (volatile int i = 0; i < 20; i++)
        jump();
    pthread_mutex_lock(&mutex);
    write_it(1);
    pthread_mutex_unlock(&mutex);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    jump();
    pthread_mutex_lock(&mutex);
    write_it(2);
    pthread_mutex_unlock(&mutex);
    rb_escape(&data);
}

int main(void)
{
    signal(SIGUSR1, handler);
    return rb_both(first, second);
}
