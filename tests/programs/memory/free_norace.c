/* A block is freed after another thread's last use of it: ordered by a mutex. */
#include "../order.h"

char *block;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void first(void)
{
    pthread_mutex_lock(&mutex);
    block[40] = 1;
    pthread_mutex_unlock(&mutex);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    pthread_mutex_lock(&mutex);
    free(block);
    pthread_mutex_unlock(&mutex);
    rb_escape(&block);
}

int main(void)
{
    block = malloc(100);
    return rb_both(first, second);
}
