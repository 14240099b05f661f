/* Every caller of pthread_once is ordered after the call that made it. */
#include "../order.h"

int data;
pthread_once_t once = PTHREAD_ONCE_INIT;

static void make(void)
{
    data = 1;
}

static void first(void)
{
    pthread_once(&once, make);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    pthread_once(&once, make);
    rb_use(data);
}

int main(void)
{
    return rb_both(first, second);
}
