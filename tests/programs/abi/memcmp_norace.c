/*
 * memcmp, strncpy and strrchr read what another thread wrote, under one mutex.
 * build: -fno-builtin
 */
#include "../order.h"
#include <string.h>

RB_APART char compared[16] = "abcdefghijkl", limited[16] = "abcdefghijkl";
RB_APART char last[16] = "abcdefghijkl";
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void first(void)
{
    pthread_mutex_lock(&mutex);
    compared[7] = 'h';
    limited[2] = 'x';
    last[2] = 'x';
    pthread_mutex_unlock(&mutex);
    rb_reach(1);
}

static void second(void)
{
    char local[16];

    rb_await(1);
    pthread_mutex_lock(&mutex);
    rb_use(memcmp(compared, "abcdefgh", 8));
    strncpy(local, limited, 5);
    rb_use(strrchr(last, 'k'));
    pthread_mutex_unlock(&mutex);
    rb_escape(local);
}

int main(void)
{
    return rb_both(first, second);
}
