/* Writes, then reads of the same 1, 2, 4, 8 and 16 bytes by another thread, under one mutex. */
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
    unsigned __int128 sum;

    rb_await(1);
    pthread_mutex_lock(&mutex);
    sum = one;
    sum += two;
    sum += four;
    sum += eight;
    sum += sixteen;
    pthread_mutex_unlock(&mutex);
    rb_use((uint64_t)sum);
    rb_use((uint64_t)(sum >> 64));
}

int main(void)
{
    return rb_both(first, second);
}
