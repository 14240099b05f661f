/* As its race, with one mutex. */
#include "../order.h"

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static int fibonacci(int n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__attribute__((noinline)) static void write_it(int value)
{
    data = value;
    rb_use(value);
}

static void first(void)
{
    rb_use(fibonacci(12));
    pthread_mutex_lock(&mutex);
    write_it(1);
    pthread_mutex_unlock(&mutex);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    rb_use(fibonacci(12));
    pthread_mutex_lock(&mutex);
    write_it(2);
    pthread_mutex_unlock(&mutex);
    rb_escape(&data);
}

int main(void)
{
    return rb_both(first, second);
}
