/* C11 condition variables: the data is written with the mutex held. */
#include "../order.h"
#include <threads.h>

RB_APART int data, ready;
mtx_t mutex;
cnd_t condition;

static void first(void)
{
    mtx_lock(&mutex);
    data = 1;
    ready = 1;
    cnd_signal(&condition);
    mtx_unlock(&mutex);
    rb_reach(1);
}

static void second(void)
{
    mtx_lock(&mutex);
    while (!ready)
        cnd_wait(&condition, &mutex);
    mtx_unlock(&mutex);
    rb_await(1);
    data = 2;
}

int main(void)
{
    mtx_init(&mutex, mtx_plain);
    cnd_init(&condition);
    return rb_both(first, second);
}
