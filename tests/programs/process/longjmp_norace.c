/* Jumps out of deep calls, then accesses under one mutex. */
#include "../order.h"
#include <setjmp.h>

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void dive(jmp_buf back, int depth)
{
    if (depth == 0)
        longjmp(back, 1);
    dive(back, depth - 1);
    rb_escape(back);
}

static void jump(int times)
{
    for (volatile int i = 0; i < times; i++) {
        jmp_buf back;

        if (setjmp(back) == 0)
            dive(back, 20);
    }
}

__attribute__((noinline)) static void write_it(int value)
{
    data = value;
    rb_escape(&data);
}

static void first(void)
{
    jump(50);
    pthread_mutex_lock(&mutex);
    write_it(1);
    pthread_mutex_unlock(&mutex);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    jump(50);
    pthread_mutex_lock(&mutex);
    write_it(2);
    pthread_mutex_unlock(&mutex);
    rb_escape(&data);
}

int main(void)
{
    return rb_both(first, second);
}
