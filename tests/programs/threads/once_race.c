/* A thread uses what pthread_once made without calling pthread_once itself. */
#include "../order.h"

int data;
pthread_once_t once = PTHREAD_ONCE_INIT;

static void make(void)
{
    data = 1; /* RACE 1 */
}

static void first(void)
{
    pthread_once(&once, make);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    rb_use(data); /* RACE 2 */
}

int main(void)
{
    return rb_both(first, second);
}
