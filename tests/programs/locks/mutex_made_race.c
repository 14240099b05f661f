/*
 * A mutex is made by one thread and used by another that nothing tells when it is ready. That the first has
 * used it too orders nothing: the second may come before.
 */
#include "../order.h"

RB_APART static pthread_mutex_t made;
RB_APART static int shared;

static void maker(void)
{
    pthread_mutex_init(&made, NULL); /* RACE 1 */
    pthread_mutex_lock(&made);
    shared = 1;
    pthread_mutex_unlock(&made);
    rb_reach(1);
}

static void user(void)
{
    rb_await(1);
    pthread_mutex_lock(&made); /* RACE 2 */
    shared = 2;
    pthread_mutex_unlock(&made);
}

int main(void)
{
    return rb_both(maker, user);
}
