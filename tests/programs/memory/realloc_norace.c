/*
 * A block is moved by realloc after another thread's last use of it; who gets the old place has new memory.
 */
#include "../order.h"

enum { SMALL = 100, LARGE = 100000 };
char *block;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void first(void)
{
    pthread_mutex_lock(&mutex);
    block[40] = 1;
    pthread_mutex_unlock(&mutex);
    rb_reach(1);
    rb_await(2);
    for (int i = 0; i < 20; i++) {
        char *other = malloc(SMALL);

        other[40] = 1;
        rb_escape(other);
        free(other);
    }
}

static void second(void)
{
    rb_await(1);
    pthread_mutex_lock(&mutex);
    block = realloc(block, LARGE);
    pthread_mutex_unlock(&mutex);
    block[LARGE - 1] = 1;
    rb_reach(2);
}

int main(void)
{
    block = malloc(SMALL);
    rb_both(first, second);
    free(block);
    return 0;
}
