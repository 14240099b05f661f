/* Writes of 1, 2, 4, 8 and 16 bytes by two threads under one mutex. */
#include "../order.h"
#include <stdint.h>

RB_APART uint8_t one;
RB_APART uint16_t two;
RB_APART uint32_t four;
RB_APART uint64_t eight;
RB_APART unsigned __int128 sixteen;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void first(void)
{
    pthread_mutex_lock(&mutex);
    one = 1;
    two = 1;
    four = 1;
    eight = 1;
    sixteen = 1;
    pthread_mutex_unlock(&mutex);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    pthread_mutex_lock(&mutex);
    one = 2;
    two = 2;
    four = 2;
    eight = 2;
    sixteen = 2;
    pthread_mutex_unlock(&mutex);
}

int main(void)
{
    return rb_both(first, second);
}
